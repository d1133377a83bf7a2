"""TriFinger as a world of which models are learned: recorded episodes, exact simulation, goals and interventions.

    world = TriFingerSource("pushing");  columns, lengths = world.record({"mode": "train", "length": 100}, rng, 90)

Fingers and blocks are the rows of the table `objects`; neither a goal nor the time is among what models see.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import numpy as np

from envs.problem import Problem, nearest
from envs.protocols import SPACES
from envs.spec import Action, EnvSpec, Observation
from envs.trifinger.experts.tasks import TASKS as WITH_EXPERT
from envs.trifinger.source.arena import OF_EXPERTS, POLICIES, TRIES
from envs.trifinger.source.exploration import identity_of
from envs.trifinger.source.parallel import Crew
from envs.trifinger.source.saved import COLUMNS, FINGERS, WIDTH, States
from envs.trifinger.source.sight import COUNTS, Sight
from envs.trifinger.tasks import TASKS

_PIECE = 50  # rows that a process steps at a time
_GOAL_DRAWS = 10
_RESOLUTION = 1e-3  # metres, and radians, metres per second ...


class TriFingerSource:
    """One task, in the terms of envs/protocols.py: Source, Simulator, OwnGoals, Interventions, Causes, Blocks.

    observation: objects | pixels (one camera, 64 px) | views (three); what a file holds besides the table, since pictures cost
    as much as the simulation; image_size, camera, drawn, motion: see `Sight`.  policy: random | scripted (see `exploration`) |
    expert (see `experts`) | mixed, the random or the expert's by a coin for each episode; or a function that gives an episode's
    policy: (env=, rng=) -> (observation -> normalised joint positions), picklable.  speed: what an action means (see `Drive`);
    experts and functions are slowed down to it.
    options: of TriFingerEnv.  workers: processes; None = one a core. They change no byte.

    A state is the exact save of the environment. Steps depend on it alone, so that a step from a recorded row gives the next
    row bit for bit. Distance between states: mean way of the blocks, metres; in reaching of the tips. Solved: the
    task's own success, with the blocks (or tips) of the other state for the goal.
    """

    def __init__(
        self, task: str = "pushing", observation: str = "objects", policy: str | Callable = "random",
        speed: float | None = 0.04, skip_frame: int = 10, dynamics: str = "legacy", collision: str = "mesh",
        image_size: int = 64, camera: str = "eyes", drawn: int = 1, motion: float | None = None,
        renderer: str = "auto", workers: int | None = None,
    ) -> None:  # fmt: skip
        if task not in TASKS:
            raise Problem(f"there is no task '{task}': {nearest(str(task), TASKS)}; set env.world.task=")
        if observation not in ("objects", *COUNTS):
            raise Problem(f"there is no observation '{observation}': {nearest(str(observation), ('objects', *COUNTS))}; "
                          f"set env.observation=")  # fmt: skip
        if not callable(policy) and policy not in POLICIES:
            raise Problem(f"there is no policy '{policy}': {nearest(str(policy), POLICIES)}; set env.world.policy=")
        if policy in OF_EXPERTS and task not in WITH_EXPERT:
            raise Problem(f"policy '{policy}' needs an expert of {task}; there are experts for {', '.join(WITH_EXPERT)}; "
                          f"set env.world.policy=random")  # fmt: skip
        if speed is not None and not (isinstance(speed, int | float) and 0 < speed < float("inf")):
            raise Problem(f"speed is how far an action sends a joint at most, radians > 0, or null for joint positions, got "
                          f"{speed!r}; set env.world.speed=")  # fmt: skip
        if workers is not None and not (isinstance(workers, int) and workers > 0):
            raise Problem(f"workers is a number of processes >= 1, or null for one a core, got {workers!r}; "
                          f"set env.world.workers=")  # fmt: skip
        self.observation, self._policy, self._sight = observation, policy, Sight(observation, camera, image_size, drawn, motion)
        self._options = {
            "task": task, "skip_frame": skip_frame, "dynamics": dynamics, "collision": collision, "renderer": renderer,
            "space": None,
        }  # fmt: skip
        self._speed, fork = speed, observation == "objects" and not callable(policy)
        self._crew = Crew({"options": self._options, "speed": speed}, workers, fork, draws=bool(self._sight.count))

    @cached_property
    def spec(self) -> EnvSpec:
        entities = FINGERS + len(self._layout.blocks)
        shown = {"objects": Observation("objects", (entities, WIDTH), values="real", resolution=_RESOLUTION)}
        if self._sight.count:
            shape = (self._sight.size, self._sight.size, self._sight.colors)
            shown[self.observation] = Observation(self.observation, shape)
        return EnvSpec(shown, Action(9, owners=FINGERS, low=(-1.0,) * 9, high=(1.0,) * 9), entities)

    @property
    def shown(self) -> Observation:
        return self.spec.shown(self.observation)

    @property
    def row_bytes(self) -> int:
        """Constant entries compress to almost nothing, pictures to about half."""
        return 900 + self._sight.size**2 * self._sight.colors // 2

    @property
    def _layout(self):
        return self._crew.arena.layout

    def header(self) -> dict:
        """Everything that decides a byte: options, policy, engine, and the renderer of pictures."""
        about = {"world": type(self).__name__, **self._options, "observation": self.observation, "speed": self._speed,
                 "policy": identity_of(self._policy), "pybullet": version("pybullet"), "explorer": 1}  # fmt: skip
        del about["space"], about["renderer"]
        if revision := TASKS[self._options["task"]].revision:
            about["revision"] = revision
        if self._policy in OF_EXPERTS:
            about["experts"] = 1
        if self._crew.arena.goals_place_blocks:
            about["starts"] = 1  # before, goals placed blocks last
        if self._sight.count:
            about |= {**self._sight.header(), "renderer": self._crew.arena.views.drawn_by}
        return about

    def save_beside(self, path: Path) -> Path | None:
        """The header names everything."""

    def record(self, split: Mapping, rng: np.random.Generator, episodes: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Columns (rows, ...) of `episodes` episodes, one after the other, and their lengths in rows.

        split: mode (see `Arena.start`), length in actions.  objects, and the pictures of the observation; action; reward of the
        task; state; event_moved, a block went more than a millimetre or turned by more than .02 rad in the step that leads to
        the next row; event_contact, the robot touches a block at its end.
        """
        length, mode = split["length"], split["mode"]
        seeds = rng.integers(2**63, size=episodes).tolist()
        pieces = [(seed, mode, length, self._policy) for seed in seeds]
        played, kept = zip(*self._crew.do("episode", pieces, episodes * length))
        _report_kept(kept, mode)
        columns = {name: np.concatenate([one[name] for one in played]) for name in played[0]}
        moved = np.zeros(len(columns["state"]), bool)
        moved[:-1] = self._layout.moved(columns["state"][:-1], columns["state"][1:])
        moved[length :: length + 1] = False  # padding, as its action is
        states = self.unpack(columns["state"])
        observed = {one.column: self.observe(states, one.column) for one in self.spec.observations.values()}
        return {**observed, **columns, "event_moved": moved}, np.full(episodes, length + 1)

    def reset(self, batch: int, rng: np.random.Generator, mode: str = "train") -> States:
        """Starts of episodes; see `Arena.start` for modes."""
        started = [self._crew.arena.start(mode, rng) for _ in range(batch)]
        _report_kept([kept for _, kept in started], mode)
        return States(np.array([row for row, _ in started]).reshape(batch, -1))

    def pack(self, state: States) -> np.ndarray:
        return state.rows

    def unpack(self, rows: np.ndarray) -> States:
        """rows (B, S) float64 of the column `state`."""
        if rows.shape[1:] != (self._layout.width,):
            raise Problem(f"states of {self._options['task']} are rows of {self._layout.width} numbers, "
                          f"got shape {rows.shape}; collect the data again")  # fmt: skip
        return States(rows)

    def noise(self, batch: int, rng: np.random.Generator) -> None:
        """The engine is deterministic."""

    def step(self, state: States, action: np.ndarray, noise: None = None) -> tuple[States, np.ndarray]:
        """-> (states after the actions (B, 9), (B,) bool: none cannot be done). Equal states under equal actions, such as the
        shared beginnings of counterfactual sequences, are stepped once."""
        first, copies = _distinct(state.rows, action)
        rows, todo = state.rows[first], action[first]
        pieces = [(rows[i : i + _PIECE], todo[i : i + _PIECE]) for i in range(0, len(rows), _PIECE)]
        done = self._crew.do("steps", pieces, len(rows))
        return States(np.concatenate(done)[copies] if done else state.rows), np.zeros(len(state), bool)

    def observe(self, state: States, column: str | None = None) -> np.ndarray:
        """objects (B, N, F) float32, or pictures (B, H, W, C) uint8."""
        column = self.shown.column if column is None else column
        if column == "objects":
            return self._layout.table(state.rows, self._crew.arena.kinematics)
        if column not in COUNTS:
            raise Problem(f"TriFinger is observed as a column, got '{column}': {nearest(column, ('objects', *COUNTS))}")
        sight = replace(self._sight, observation=column)
        pieces = [(state.rows[i : i + _PIECE], sight) for i in range(0, len(state), _PIECE)]
        return np.concatenate(self._crew.do("pictures", pieces, len(state)))

    def blocks(self, table: np.ndarray) -> np.ndarray:
        """The rows after the fingers'; none in reaching."""
        return table[:, FINGERS:]

    def positions(self, table: np.ndarray) -> np.ndarray:
        """Centres of the blocks."""
        return self.blocks(table)[..., COLUMNS["position"]]

    def poses(self, table: np.ndarray) -> np.ndarray:
        """Centres of the blocks and the ways from there to the centres of two faces, metres."""
        blocks = self.blocks(table)
        axes, half = blocks[..., COLUMNS["axes"]], blocks[..., COLUMNS["size"]][..., :2] / 2
        return np.concatenate([blocks[..., COLUMNS["position"]], axes * half.repeat(3, -1)], -1)

    def tips(self, table: np.ndarray) -> np.ndarray:
        """Fingertips."""
        return table[:, :FINGERS, COLUMNS["position"]]

    def draw(self, state: States, table: np.ndarray) -> np.ndarray:
        """What the camera of films sees, without goals, (B, 240, 320, 3) uint8."""
        return self._crew.arena.film(self._layout.with_table(state.rows, table))

    def candidates(self, action: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
        """action (B, 9)  ->  (B, count, 9) float32: the one done first, then uniform draws."""
        drawn = rng.uniform(-1, 1, (len(action), count, 9)).astype(np.float32)
        drawn[:, 0] = action
        return drawn

    def draw_goals(self, state: States, rng: np.random.Generator, steps: int, may_equal_start: bool = False):
        """The states after `steps` actions of the random policy, and those actions (B, steps, 9).

        Goals that are solved at the start are redrawn unless allowed, ten times at most: a block may be out of reach. A warning
        counts those that stay.
        """
        if steps < 1 and not may_equal_start:
            raise Problem(f"a goal needs at least 1 step away from the start, got steps={steps}")
        rows, actions, drawn = state.rows.copy(), np.empty((len(state), steps, 9), np.float32), np.arange(len(state))
        for _ in range(1 if may_equal_start else _GOAL_DRAWS):
            seeds = rng.integers(2**63, size=len(drawn)).tolist()
            pieces = [(row, seed, steps) for row, seed in zip(state.rows[drawn], seeds)]
            for index, (row, done) in zip(drawn, self._crew.do("walk", pieces, len(drawn) * steps)):
                rows[index], actions[index] = row, done
            drawn = drawn[self.solved(state.take(drawn), States(rows[drawn]))]
            if not len(drawn):
                break
        if len(drawn) and not may_equal_start:
            print(f"warning: {len(drawn)} of {len(rows)} goals of {steps} steps are solved at the start, after {_GOAL_DRAWS} "
                  f"draws each", file=sys.stderr, flush=True)  # fmt: skip
        return States(rows), actions

    def distance(self, state: States, goal: States) -> np.ndarray:
        """Mean distance of the blocks from where the goal has them, metres; of the tips where there is no block. (B,)"""
        here, there = (self.observe(one, "objects")[..., 1:4] for one in (state, goal))
        kind = slice(FINGERS, None) if self._layout.blocks else slice(0, FINGERS)
        return np.linalg.norm(here[:, kind] - there[:, kind], axis=-1).mean(-1).astype(float)

    def solved(self, state: States, goal: States) -> np.ndarray:
        """The task's success were the goal's blocks, or tips, what is asked for. (B,) bool"""
        return np.array([self._crew.arena.solved(a, b) for a, b in zip(state.rows, goal.rows)], bool)

    def own_goals(self, state: States) -> States:
        """The states with their blocks where the task's goals are."""
        return States(np.array([self._crew.arena.own_goal(row) for row in state.rows]).reshape(state.rows.shape))

    def grade(self, state: States, goal: States) -> np.ndarray:
        """The task's fractional success were the goal's blocks, or tips, what is asked for. (B,)"""
        return np.array([self._crew.arena.grade(a, b) for a, b in zip(state.rows, goal.rows)], float)

    def variables(self, state: States) -> tuple[str, ...]:
        """Paths of what can be set: 'tool_block/mass'; all that has a space A or B."""
        return self._crew.arena.variables()

    def intervene(self, state: States, variable: str, rng: np.random.Generator) -> States:
        """The same states with another value of one variable, which the environment accepts."""
        names = self.variables(state)
        if variable not in names:
            raise Problem(f"TriFinger has no variable '{variable}': {nearest(str(variable), names)}")
        rows = [self._crew.arena.intervene(row, variable, rng) for row in state.rows]
        return States(np.array(rows).reshape(state.rows.shape))

    def causes(self) -> tuple[str, ...]:
        """Kinds of variables; what each holds is written in `causes.py`."""
        return tuple(self._crew.arena.causes())

    def set_cause(self, state: States, cause: str, space: str, rng: np.random.Generator) -> tuple[States, np.ndarray]:
        """-> (the same states with other values of a cause, drawn from space a or b;
        (B,) bool: the environment accepted one)."""
        arena = self._crew.arena
        known = arena.causes()
        if cause not in known:
            raise Problem(f"TriFinger has no cause '{cause}': {nearest(str(cause), known)}")
        if space not in SPACES:
            raise Problem(f"values are drawn from space {' or '.join(SPACES)}, got '{space}'")
        seeds = rng.integers(2**63, size=len(state)).tolist()
        made = [arena.redraw(row, known[cause], space, seed) for row, seed in zip(state.rows, seeds)]
        return States(np.array([row for row, _ in made]).reshape(state.rows.shape)), np.array([done for _, done in made], bool)


def _report_kept(kept: Sequence[tuple[str, ...]], mode: str) -> None:
    """One sentence on stderr for what kept the task's own values in some starts.  kept: of each start, see `Arena.start`."""
    for name, count in Counter(name for names in kept for name in names).items():
        print(f"warning: {count} of {len(kept)} starts of mode '{mode}' keep the task's own {name}: {TRIES} draws were refused",
              file=sys.stderr, flush=True)  # fmt: skip


def _distinct(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(index of one of each of the rows that differ in a byte, ascending, index into those of every row)."""
    together = [np.ascontiguousarray(one).reshape(len(one), -1).view(np.uint8) for one in columns if len(one)]
    if not together:
        return np.zeros(0, int), np.zeros(0, int)
    found: dict[bytes, int] = {}
    first, copies = [], np.empty(len(together[0]), int)
    for number, row in enumerate(np.concatenate(together, 1)):
        copies[number] = found.setdefault(row.tobytes(), len(found))
        if len(found) > len(first):
            first.append(number)
    return np.array(first), copies
