"""Curricula: which actor intervenes in which episodes, and at which step of them."""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np

from envs.problem import Problem
from envs.trifinger.interventions.actors import Actor
from envs.trifinger.interventions.interventions import merged

TRIES = 5  # requests drawn before an episode goes on without one


@dataclass(frozen=True)
class Phase:
    """When an actor intervenes: in episodes first, first + period, ... up to last (None = no end), at a step; 0 = the start."""

    actor: Actor
    first: int = 0
    last: int | None = None
    period: int = 1
    step: int = 0

    def __post_init__(self) -> None:
        if self.first < 0 or self.period < 1 or self.step < 0 or (self.last is not None and self.last < self.first):
            raise Problem(f"a phase needs 0 <= first <= last, period >= 1, step >= 0; got {self}")

    def fires(self, episode: int, step: int) -> bool:
        within = self.first <= episode and (self.last is None or episode <= self.last)
        return within and (episode - self.first) % self.period == 0 and step == self.step


class Curriculum(gym.Wrapper):
    """Intervenes on a TriFingerEnv. Requests of actors that fire together are merged; the later one wins.

    Every episode counts its steps from 0, so phases within an episode fire in each. info["interventions"]: where an actor
    fired, {"accepted": bool, "tries": int, "reasons": [...], "applied": path -> value}; refusals included.
    """

    def __init__(self, env: gym.Env, phases: list[Phase]) -> None:
        super().__init__(env)
        if env.observation_space != env.unwrapped.observation_space:
            raise Problem(
                f"what changes observations goes around a Curriculum, not into it: {type(env).__name__}(Curriculum(...))"
            )
        self._phases, self.episode, self._step = list(phases), -1, 0

    def skip_episodes(self, count: int) -> None:
        """Count episodes that were played elsewhere."""
        self.episode += count

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        observation, info = self.env.reset(seed=seed, options=options)
        self.episode, self._step = self.episode + 1, 0
        return self._act(observation, info)

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._step += 1
        if not truncated:
            observation, info = self._act(observation, info)
        return observation, reward, terminated, truncated, info

    def _act(self, observation: np.ndarray, info: dict):
        actors = [phase.actor for phase in self._phases if phase.fires(self.episode, self._step)]
        if not actors:
            return observation, info
        report = intervene(self.env.unwrapped, actors, self.env.unwrapped.np_random)
        base = self.env.unwrapped
        return base.observe(), {**info, **base.success(), "interventions": report}


def intervene(env, actors: list[Actor], rng: np.random.Generator) -> dict:
    """Draw requests until one is accepted, TRIES times at most.  -> the result"""
    for tries in range(1, TRIES + 1):
        verdict = env.intervene(merged(actor.request(env, rng) for actor in actors))
        if verdict.accepted:
            break
    return {"accepted": verdict.accepted, "tries": tries, "reasons": list(verdict.reasons), "applied": dict(verdict.applied)}
