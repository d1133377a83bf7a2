"""WorldModel: encoder + decoder + transition + objective, spoken in verbs: encode, transition, decode, rollout, surprise."""

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from pytorch_lightning import LightningModule
from torch import Tensor, nn

from models.abilities import Penalised, ReadsWindows, Remembers, Stateful, TriesAll
from models.interfaces import Latent
from models.layers.normalised import Normalised
from models.layers.pixels import to_float

# observations at least, where the split has them, and fewer than twice as many; spread over all episodes
NORMALISED_BY = 100_000
AT_ONCE = 256  # frames of clips that are encoded or decoded together


def one_cycle(progress: float, warm_up: float = 0.05, start: float = 0.04, end: float = 4e-6) -> float:
    """The share of the learning rate at a progress from 0 to 1: up from `start`, then down to `end`, a half cosine each.

    That of torch's OneCycleLR, for stages that do not know their steps.
    """
    if progress < warm_up:
        first, last, part = start, 1.0, progress / warm_up
    else:
        first, last, part = 1.0, end, (progress - warm_up) / (1 - warm_up)
    return last + (first - last) * (1 + math.cos(math.pi * min(1.0, part))) / 2


class WorldModel(LightningModule):
    """A world in latent space.

    obs (B, C, H, W) uint8, or float in [0, 1], or a table (B, N, F) float; latent (B, K, D); action (B, A), A = 0 for a video.
    `transition` is one step; `rollout` is the open loop in which the model is fed its own predictions.
    The objective and the optimiser belong to a stage of training and are set by `configure_stage`.
    """

    PARTS = ("encoder", "transition", "decoder")  # what stages train

    def __init__(self, encoder: nn.Module, transition: nn.Module, decoder: nn.Module | None = None) -> None:
        super().__init__()
        self.encoder, self.transition, self.decoder = encoder, transition, decoder
        self.objective: Callable | None = None

    # -- the verbs ---------------------------------------------------------------------------------------------

    def encode_dist(self, obs: Tensor) -> Latent:
        """obs  ->  the encoder's distribution of latents, with a variance where the encoder has one."""
        if obs.dtype == torch.uint8 and not vars(type(self.encoder)).get("takes_bytes", False):  # never inherited
            pixels, scale = to_float(obs)
            obs = pixels * scale
        return self.encoder(obs)

    def encode(self, obs: Tensor) -> Tensor:
        """obs  ->  latent (B, K, D)."""
        if obs.ndim == 4 and obs.shape[-1] < obs.shape[1]:
            raise ValueError(f"frames must be (B, C, H, W), got {tuple(obs.shape)} as files hold them; "
                             f"use eval.rollouts.encode_frames")  # fmt: skip
        return self.encode_dist(obs).mean

    def decode(self, latent: Tensor) -> Tensor:
        """latent (B, K, D)  ->  obs as the decoder expects it: numbers in [0, 1], or real values in their own units."""
        if self.decoder is None:
            raise ValueError("this model has no decoder, its loss trains none; use a run with loss=nll")
        return self.decoder.likelihood.mean(self.decoder(latent))

    def step(self, latent: Tensor, action: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """The next latent and memory. Memory None: an episode begins (in), the transition keeps none (out)."""
        if not isinstance(self.transition, Remembers):
            return self.transition(latent, action), None
        return self.transition.step(latent, action, self.transition.start(latent) if memory is None else memory)

    def step_all_actions(self, latent: Tensor, actions: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """`step` under each of some actions.  latent (B, K, D), actions (N, A)  ->  (B N, K, D) and memory (B N, M)."""
        if isinstance(self.transition, TriesAll):
            return self.transition.all_actions(latent, actions).flatten(0, 1), None
        count = len(actions)
        memory = None if memory is None else memory.repeat_interleave(count, 0)
        return self.step(latent.repeat_interleave(count, 0), actions.repeat(len(latent), 1), memory)

    def rollout(self, latent: Tensor, actions: Tensor, memory: Tensor | None = None) -> Tensor:
        """latent (B, K, D), actions (B, T, A)  ->  predicted latents (B, T, K, D), open loop.

        memory (B, M): from `filter`, of the frames before `latent`; None: an episode begins.
        """
        if actions.ndim != 3 or not actions.is_floating_point():
            raise ValueError(f"actions must be floats (B, T, A), got {actions.dtype} of shape {tuple(actions.shape)}; "
                             f"use eval.rollouts.actions_of")  # fmt: skip
        steps = []
        for action in actions.unbind(1):
            latent, memory = self.step(latent, action, memory)
            steps.append(latent)
        return torch.stack(steps, 1)

    def filter(self, latents: Tensor, actions: Tensor) -> Tensor | None:
        """The memory of a history, from which `rollout(latents[:, -1], ...)` continues; None for transitions without memory.

        latents (B, T+1, K, D) of the frames seen, actions (B, T, A) between them  ->  (B, M).
        """
        memory = None
        for latent, action in zip(latents[:, :-1].unbind(1), actions.unbind(1)):
            _, memory = self.step(latent, action, memory)
        return memory

    def predict_windows(self, latent: Tensor, action: Tensor) -> Tensor:
        """One-step predictions from every frame of windows, as training uses them.

        latent (B, T+1, K, D), action (B, T, A)  ->  (B, T, K, D): [:, t] predicts latent[:, t + 1].
        """
        if isinstance(self.transition, ReadsWindows):
            return self.transition.windows(latent, action)
        steps = latent[:, :-1]
        if isinstance(self.transition, Remembers):
            memory, predicted = None, [None] * steps.shape[1]
            for t in range(steps.shape[1]):
                predicted[t], memory = self.step(steps[:, t], action[:, t], memory)
            return torch.stack(predicted, 1)
        return self.transition(steps.flatten(0, 1), action.flatten(0, 1)).unflatten(0, steps.shape[:2])

    def surprise(
        self, obs: Tensor, action: Tensor | None = None, context: int = 10, horizon: int = 1, decoded: bool = False
    ) -> Tensor:
        """`surprises` of one horizon, (B, T)."""
        return self.surprises(obs, action, context, (horizon,), decoded)[0]

    @torch.no_grad()
    def surprises(
        self,
        obs: Tensor,
        action: Tensor | None = None,
        context: int = 10,
        horizons: Sequence[int] = (1,),
        decoded: bool = False,
    ) -> Tensor:
        """How wrong the prediction of every frame is that was made so many frames before it; horizons: how many, each once.

        obs (B, T, ...) frames of whole clips; action (B, T - 1, A) between them, none: a video.  -> (H, B, T) >= 0: squared
        error of the latent, summed over slots and width; zero where nothing was predicted, in the first
        context + horizon - 1 frames. A prediction knows every frame before it was made: what a memory keeps of them
        (`filter`), or the last one alone where the transition keeps none.
        context: frames that are seen before the first prediction.  decoded: the error of what the decoder draws, mean over
        its numbers.  ValueError where a clip is too short.
        """
        count, frames = obs.shape[:2]
        if context < 1 or min(horizons) < 1 or context + max(horizons) > frames:
            raise ValueError(f"a clip of {frames} frames is too short for context={context} and horizon={max(horizons)}; "
                             f"each is 1 or more, and together they are at most {frames}")  # fmt: skip
        latent = torch.cat([self.encode(part) for part in obs.flatten(0, 1).split(AT_ONCE)]).unflatten(0, (count, frames))
        action = latent.new_zeros(count, frames - 1, 0) if action is None else action
        wrong = latent.new_zeros(len(horizons), count, frames)
        for ahead, predicted in self._every_start(latent, action, context, max(horizons)):
            if ahead in horizons:
                first = context - 1 + ahead
                if decoded:
                    error = self._drawn_apart(predicted.flatten(0, 1), obs[:, first:].flatten(0, 1)).view(count, -1)
                else:
                    error = (predicted - latent[:, first:]).float().pow(2).sum((2, 3))
                wrong[list(horizons).index(ahead), :, first:] = error
        return wrong

    def _every_start(self, latent: Tensor, action: Tensor, context: int, horizon: int) -> Iterator[tuple[int, Tensor]]:
        """Open loops from every frame that ends a context: (steps ahead, predicted latents (B, S, K, D) of the frames there).

        latent (B, T, K, D) of whole clips, action (B, T - 1, A) between them.
        """
        count, frames = latent.shape[:2]
        memory, memories = self.transition.start(latent[:, 0]) if isinstance(self.transition, Remembers) else None, []
        for t in range(frames - 1) if memory is not None else ():
            memories.append(memory)
            _, memory = self.step(latent[:, t], action[:, t], memory)
        memory = torch.stack(memories[context - 1 :], 1) if memories else None
        predicted = latent[:, context - 1 : -1]
        for ahead in range(1, horizon + 1):
            starts = frames - context + 1 - ahead  # whose frame so far ahead is in the clip
            acts = action[:, context - 2 + ahead :].flatten(0, 1)
            known = None if memory is None else memory[:, :starts].flatten(0, 1)
            predicted, known = self.step(predicted[:, :starts].flatten(0, 1), acts, known)
            predicted = predicted.unflatten(0, (count, starts))
            memory = None if known is None else known.unflatten(0, (count, starts))
            yield ahead, predicted

    def _drawn_apart(self, latent: Tensor, obs: Tensor) -> Tensor:
        """Squared error of what the decoder draws, mean over its numbers: latent (N, K, D), obs (N, ...)  ->  (N,)."""
        errors = []
        for guess, part in zip(latent.split(AT_ONCE), obs.split(AT_ONCE)):
            numbers, scale = to_float(part)
            errors.append((self.decode(guess).float() - numbers.float() * scale).pow(2).flatten(1).mean(1))
        return torch.cat(errors)

    @torch.no_grad()
    def fit_normalisation(self, windows) -> None:
        """Set every `Normalised` layer, if there is one, to mean and spread of the observations of training windows."""
        layers = [layer for layer in self.modules() if isinstance(layer, Normalised)]
        if layers:
            rows = windows.rows
            values = windows.frames(rows[:: max(1, len(rows) // NORMALISED_BY)]).double()
            for layer in layers:
                layer.fit(values.mean(0), values.std(0, unbiased=False))

    # -- one stage of training ---------------------------------------------------------------------------------------

    def configure_stage(
        self,
        objective: Callable,
        trains: list[str],
        learning_rate: float,
        schedule: str = "constant",
        weight_decay: float = 0.0,
        optimizer: str = "adam",
        progress: Callable[[], float] | None = None,
    ) -> None:
        """Set what this stage optimises: parts named in `trains` learn, the others are frozen, in eval mode.

        schedule: constant | cosine (warm-up over the first twentieth, then down to zero).
        weight_decay: decoupled (AdamW); 0 is plain Adam.
        optimizer: adam | sgd, with a momentum of 0.9.
        progress: says how much of the stage is over, from 0 to 1, where that is not the share of its steps.
        """
        if schedule not in ("constant", "cosine"):
            raise ValueError(f"schedule is constant or cosine, got '{schedule}'")
        if optimizer not in ("adam", "sgd"):
            raise ValueError(f"optimizer is adam or sgd, got '{optimizer}'")
        if missing := [name for name in trains if name not in self.PARTS]:
            raise ValueError(f"{type(self).__name__} has no part '{missing[0]}' to train, it has {', '.join(self.PARTS)}; "
                             f"choose another loss=")  # fmt: skip
        self.objective, self._trains, self._optimizer = objective, list(trains), optimizer
        self._learning_rate, self._schedule, self._weight_decay = learning_rate, schedule, weight_decay
        self._progress = progress
        for name in self.PARTS:
            part = getattr(self, name)
            if part is not None:
                part.requires_grad_(name in self._trains)

    def on_train_epoch_start(self) -> None:
        self.train()  # Lightning keeps the mode it finds, and a stage before may have left eval mode
        for name in self.PARTS:
            part = getattr(self, name)
            if part is not None and name not in self._trains:
                part.train(getattr(self.objective, "frozen_in_train_mode", False))

    def on_save_checkpoint(self, checkpoint: dict) -> None:
        """What an objective keeps beside the model goes with the state of its stage."""
        if isinstance(self.objective, Stateful):
            checkpoint["objective"] = self.objective.state_dict()

    def on_load_checkpoint(self, checkpoint: dict) -> None:
        if "objective" in checkpoint:
            self.objective.load_state_dict(checkpoint["objective"])

    def training_step(self, batch, _) -> Tensor:
        return batch.weight * self._log_terms("train", batch)

    def validation_step(self, batch, _) -> Tensor:
        return self._log_terms("val", batch)

    def _log_terms(self, prefix: str, batch) -> Tensor:
        terms = self.objective(self, batch)
        if "transition" in self._trains and isinstance(self.transition, Penalised):
            terms |= self.transition.penalties()
        loss = torch.stack(list(terms.values())).sum()
        if not loss.isfinite():
            bad = ", ".join(f"{name} = {term.item()}" for name, term in terms.items() if not term.isfinite())
            raise FloatingPointError(f"{prefix} loss is not finite: {bad or 'their sum'}; lower the learning rate")
        epoch = {"on_step": False, "on_epoch": True, "batch_size": len(batch.action), "sync_dist": True}
        self.log(f"{prefix}/loss", loss, **epoch, prog_bar=prefix == "val")
        for name, term in terms.items():
            self.log(f"{prefix}/{name}", term, **epoch)
        return loss

    def _parameter_groups(self) -> list[dict]:
        """Weights of layers, by their name, decay; biases, norms and temperatures keep their size."""
        decays, keeps, seen = [], [], set()
        for module in self.modules():
            for name, parameter in module.named_parameters(recurse=False):
                if parameter.requires_grad and id(parameter) not in seen:
                    seen.add(id(parameter))  # tied weights are one parameter
                    is_weight = "weight" in name and "Norm" not in type(module).__name__
                    (decays if is_weight else keeps).append(parameter)
        return [{"params": decays}, {"params": keeps, "weight_decay": 0.0}]

    def configure_optimizers(self):
        fused = self.trainer.gradient_clip_val is None  # Lightning clips no fused optimiser under mixed precision
        common = {"lr": self._learning_rate, "weight_decay": self._weight_decay, "fused": fused}
        if self._optimizer == "sgd":
            optimizer = torch.optim.SGD(self._parameter_groups(), momentum=0.9, **common)
        else:
            optimizer = torch.optim.AdamW(self._parameter_groups(), **common)
        if self._schedule == "constant":
            return optimizer
        if self._progress is not None:
            schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: one_cycle(self._progress()))
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
        steps = max(2, int(self.trainer.estimated_stepping_batches))
        warm_up = 0.06 if steps == 20 else 0.05  # torch divides by the steps of the warm-up less one
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, self._learning_rate, total_steps=steps, pct_start=warm_up, cycle_momentum=False
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
