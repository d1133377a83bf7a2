"""GIFs of closed-loop planning episodes: the board now, the goal, and the outcome that the model expects of its action.

The distance to the goal is that of latents, so that nothing has to be fitted: an illustration, not eval/plan.py's numbers.
"""

from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from hydra.utils import instantiate

from envs.boards import Boards
from envs.frames import frame_ids
from envs.problem import Problem
from eval.pages.html import gif, gif_image
from eval.pages.rollout_figures import decodes_pictures, nearest
from eval.planning.latent_search import LatentSearch
from eval.planning.oracles import after_every_action
from eval.planning.tasks import draw_tasks, has_goals, play
from eval.rollouts import actions_of, decode_frames, encode_frames
from eval.runs import load_run
from eval.runs.identity import family
from eval.runs.run import weights_file
from eval.terminal import Steps
from models.goal_distance import LatentDistance

EPISODES, STEPS = 100, 10  # goals planned for, and random actions that made each
SCALE, BORDER, GAP, BAR = 3, 6, 12, 6  # of a frame, in its pixels
PAPER, LINE, SOFT = (np.array(color, np.uint8) for color in ((251, 252, 252), (217, 223, 228), (107, 122, 135)))
RIGHT, WRONG = (np.array(color, np.uint8) for color in ((74, 155, 127), (214, 96, 63)))
STEP_MS, END_MS = 700, 2600


class Episode(NamedTuple):
    """One episode of T steps towards one goal.  number: of its goal.

    Pictures: now (T+1, H, W, 3), expected (T, H, W, 3), goal (H, W, 3); whether the goal stands, reached (T+1,); whether the
    outcome nearest to the prediction is the one that came, right (T,).
    """

    number: int
    now: np.ndarray
    expected: np.ndarray
    goal: np.ndarray
    reached: np.ndarray
    right: np.ndarray


class Episodes(NamedTuple):
    """All E episodes of a model in its world: T+1 batches of boards, T actions (E,), the noise of every step, the goals."""

    boards: list[Boards]
    actions: list[np.ndarray]
    noise: list
    goal: Boards


def plan_episodes(model, world, episodes: int = EPISODES, steps: int = STEPS) -> Episodes:
    """Plans greedily for fresh goals; the model sees every true frame."""
    tasks = draw_tasks(world, episodes, steps, seed=0)
    action, noise, state = zip(*play(world, tasks, LatentSearch(model, world, LatentDistance()), seed=0))
    return Episodes([tasks.start, *state], list(action), list(noise), tasks.goal)


@torch.no_grad()
def episode(model, world, episodes: Episodes, number: int) -> Episode:
    """One episode, with the outcome that the model expected: its decoded picture, or the nearest outcome of any action."""
    one = np.array([number])
    boards, goal = [boards.take(one) for boards in episodes.boards], episodes.goal.take(one)
    expected, right, memory = [], [], None
    for board, action, noise in zip(boards, episodes.actions, episodes.noise):
        latent = encode_frames(model, world.observe(board)).to(model.device)
        predicted, memory = model.step(latent, actions_of(action[one], world.spec).to(model.device), memory)
        after = after_every_action(world, board, None if noise is None else noise[one])
        shown = world.observe(after)
        names = frame_ids(shown)
        own = names[action[one]]
        best = nearest(predicted.cpu(), encode_frames(model, shown), names, own)
        right.append(names[best[0]] == own[0])
        if decodes_pictures(model, world):
            expected.append((decode_frames(model, predicted)[0].permute(1, 2, 0) * 255).round().byte().numpy())
        else:
            expected.append(world.observe(after.take(best), "pixels")[0])
    now = np.concatenate([world.observe(board, "pixels") for board in boards])
    reached = np.array([world.solved(board, goal)[0] for board in boards])
    return Episode(number, now, np.stack(expected), world.observe(goal, "pixels")[0], reached, np.array(right))


def _panel(frame: np.ndarray, border: np.ndarray) -> np.ndarray:
    big = frame.repeat(SCALE, 0).repeat(SCALE, 1)
    framed = np.broadcast_to(border, (big.shape[0] + 2 * BORDER, big.shape[1] + 2 * BORDER, 3)).copy()
    framed[BORDER:-BORDER, BORDER:-BORDER] = big
    return framed


def frames(episode: Episode) -> list[np.ndarray]:
    """T+1 frames: now | goal | expected, and a bar of the steps taken. The border of the last one is green or red."""
    steps = len(episode.expected)
    found = []
    for t in range(steps + 1):
        i = min(t, steps - 1)
        state = RIGHT if episode.reached[t] else WRONG if t == steps else LINE
        expected = _panel(episode.expected[i], LINE if episode.right[i] else WRONG)
        parts = [_panel(episode.now[t], state), _panel(episode.goal, LINE), expected]
        gap = np.broadcast_to(PAPER, (len(parts[0]), GAP, 3))
        row = np.concatenate([parts[0], gap, parts[1], gap, parts[2]], 1)
        bar = np.broadcast_to(LINE, (BAR, row.shape[1], 3)).copy()
        bar[:, : round(t / steps * row.shape[1])] = SOFT
        found.append(np.concatenate([row, np.broadcast_to(PAPER, (GAP, row.shape[1], 3)), bar]))
    return found


def as_gif(episode: Episode) -> bytes:
    """An episode as a GIF that loops, its last frame held."""
    return gif(frames(episode), STEP_MS, END_MS)


def best_planners(scored: dict[Path, dict]) -> dict[str, list[Path]]:
    """World -> its runs with weights, the best planner first, then the best at counterfactual ranking."""
    worlds: dict[str, list[Path]] = {}
    for folder, results in scored.items():
        if weights_file(folder).exists():
            worlds.setdefault(family(results["env"]), []).append(folder)

    def worth(folder: Path) -> tuple[float, float]:
        metrics = scored[folder]["metrics"]
        return metrics.get(f"plan/success/h{STEPS}", -1.0), metrics.get("test/cf_hits@1", -1.0)

    return {world: sorted(folders, key=worth, reverse=True) for world, folders in worlds.items()}


def gifs_section(scored: dict[Path, dict], per_world: int) -> str:
    """GIFs of the best run of every world, half of them of goals that were missed where there are such; empty for 0."""
    parts, worlds = [], best_planners(scored) if per_world else {}
    with Steps("GIFs of episodes", len(worlds), quiet=not worlds) as progress:
        for world, folders in worlds.items():
            for folder in folders[:3]:
                try:
                    parts += _gifs_of(folder, scored[folder], per_world)
                    break
                except Problem as problem:  # a run that can no longer be loaded leaves its place to the next
                    parts.append(f'<p class="soft">{escape(str(problem))}</p>')
            progress.step(world)
    return "\n".join(parts)


def _gifs_of(folder: Path, results: dict, count: int) -> list[str]:
    """None of a world without goals or pictures, or whose actions cannot be tried one by one."""
    model, cfg = load_run(folder)
    world = instantiate(cfg.env.world)
    if not has_goals(world) or "pixels" not in {shown.column for shown in world.spec.observations.values()}:
        return []
    if torch.cuda.is_available():
        model.cuda()
    planned = plan_episodes(model, world)
    reached = world.solved(planned.boards[-1], planned.goal)
    hits, misses = np.flatnonzero(reached), np.flatnonzero(~reached)
    right = hits[: max(count - count // 2, count - len(misses))]
    numbers = [*right, *misses[: count - len(right)]]
    figures = "".join(_figure(episode(model, world, planned, int(n)), bool(reached[n])) for n in numbers)
    return [
        f"<h3>{escape(results['env'])}: {escape(results['model'])} + {escape(results['loss'].replace('_', ' '))}</h3>"
        f"<p>{escape(results['run'])}: {reached.sum()} of {len(reached)} goals stand after exactly {STEPS} actions; "
        f"greedy, nearest to the goal in the model's latents.</p><div class=gifs>{figures}</div>"
    ]


def _figure(episode: Episode, reached: bool) -> str:
    word = "reached" if reached else "missed"
    alt = f"Goal {episode.number}: the board now, the goal, the outcome that the model expects; {word}"
    return gif_figure(as_gif(episode), word, alt, f"goal {episode.number}")


def gif_figure(content: bytes, word: str, alt: str, caption: str = "") -> str:
    """An episode's GIF in a page.  word: reached or missed."""
    return (
        f'<figure class=gif><figcaption><span class="tag{"" if word == "reached" else " wrong"}">{word}</span>{caption}'
        f'</figcaption><div class="heads soft"><span>now</span><span>goal</span><span>expected next</span></div>'
        f"{gif_image(content, alt)}</figure>"
    )
