"""Behaviour cloning: a policy learns an expert's actions, then those the expert names where the policy itself has gone.

Every round ends with a whole archive that says which round it is of; an interrupted training begins that round anew.
"""

import math
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf
from torch.nn import functional

from envs.problem import Problem
from envs.trifinger import make
from eval.manipulation.cloned import ClonedPolicy, read_policy, write_policy
from eval.manipulation.protocols import made_with
from eval.manipulation.trained_in import layout
from train.agents.demonstrations import collect, read
from train.metrics_csv import add_rows

COLUMNS = {"round": int, "updates": int, "loss": float, "error": float, "seconds": float}  # error: mean, of episodes held out
_LEAST = 0.8  # fractional success of an episode that is learned from
_HELD_OUT = 0.05  # share of the episodes
_EVERY = 500  # updates between two rows of metrics.csv
_NOISE = 0.01  # added to observations, in units of their spread
_BEND = 0.1  # of the smooth L1 loss, in units of the actions' spread


def clone(cfg: DictConfig, folder: Path) -> tuple[ClonedPolicy, dict]:
    """Train or resume the policy of a run folder.

    -> the policy, what its rounds were: seconds, episodes, share that was used
    """
    plain, path = OmegaConf.to_container(cfg, resolve=True), folder / "checkpoints" / "agent.zip"
    policy, header = _before(path)
    env = make(cfg.task, reward="none", space=None, **made_with(cfg))
    env.reset(seed=0)
    own = layout(env) | {"hidden": cfg.cloning.hidden}
    env.close()
    rounds, files = header.get("rounds", []), []
    for number in range(cfg.cloning.rounds + 1):
        start = time.monotonic()
        episodes = cfg.cloning.corrected if number else cfg.cloning.episodes
        files += collect(plain, folder / "demonstrations", number, episodes, path if number else None)
        if number < len(rounds):
            continue
        observations, actions, used = read(files, _LEAST)
        if len(observations) < 2:
            raise Problem(
                f"the expert of {cfg.task} solved {len(observations)} episodes of its own; choose other cloning.starts="
            )
        if policy is None:
            torch.manual_seed(cfg.seed)
            policy = ClonedPolicy(observations.shape[-1], cfg.cloning.hidden)
            policy.normalise_by(*(torch.as_tensor(c).flatten(0, 1) for c in (observations, actions)))
        played = time.monotonic() - start
        first = rounds[0]["episodes"] if rounds else len(observations)  # those of later rounds come behind these
        _learn(policy, observations, actions, max(1, int(_HELD_OUT * first)), cfg, number, folder)
        seconds = {"played_s": round(played, 2), "learned_s": round(time.monotonic() - start - played, 2)}
        rounds.append({**seconds, "episodes": len(observations), "used": used})
        write_policy(path, policy, {**own, "rounds": rounds})
    return policy.eval(), {"rounds": rounds}


def _before(path: Path) -> tuple[ClonedPolicy | None, dict]:
    """The policy of the last whole round, and its header."""
    if not path.exists():
        return None, {}
    try:
        with zipfile.ZipFile(path) as archive:
            return read_policy(archive)
    except Exception as error:  # a damaged archive can raise nearly anything
        raise Problem(f"{path} is not a readable agent ({type(error).__name__}); remove it and train again") from error


def _learn(
    policy: ClonedPolicy, observations: np.ndarray, actions: np.ndarray, out: int, cfg: DictConfig, round: int, folder: Path
) -> None:  # fmt: skip
    """`cloning.updates` of the weights, on all episodes but the first `out`, which no round learns from."""
    own, rng = cfg.cloning, torch.Generator().manual_seed(cfg.seed * 1009 + round)
    seen = torch.as_tensor(observations)
    said = (torch.as_tensor(actions) - policy.action_mean) / policy.action_spread
    optimizer = torch.optim.AdamW(policy.parameters(), lr=own.learning_rate, weight_decay=1e-4)
    start = time.monotonic()
    for update in range(1, own.updates + 1):
        for group in optimizer.param_groups:
            group["lr"] = own.learning_rate * min(1, update / 100) * (1 + math.cos(math.pi * update / own.updates)) / 2
        episode = torch.randint(out, len(seen), (own.batch_size,), generator=rng)
        step = torch.randint(seen.shape[1], (own.batch_size,), generator=rng)
        batch = seen[episode, step]
        noise = _NOISE * policy.spread * torch.randn(batch.shape, generator=rng)
        loss = functional.smooth_l1_loss(policy(batch + noise), said[episode, step], beta=_BEND)
        if not loss.isfinite():
            raise FloatingPointError(
                f"loss is not finite in update {update} of round {round}; lower cloning.learning_rate=, and train again with "
                f"overwrite=true"
            )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        if update % _EVERY == 0 or update == own.updates:
            with torch.no_grad():
                given = policy(seen[:out].flatten(0, 1))
                error = ((given - said[:out].flatten(0, 1)) * policy.action_spread).abs().mean()
            seconds = time.monotonic() - start
            row = round, update, f"{loss.item():.6g}", f"{error.item():.6g}", f"{seconds:.6g}"
            add_rows(folder / "metrics.csv", COLUMNS, [row])
            print(
                f"round {round} update {update}/{own.updates}  error {error.item():.5f}  {seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )
