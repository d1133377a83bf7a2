"""One environment that continues from any recorded row; every process has its own."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from envs.problem import Problem, nearest
from envs.trifinger.env.env import TriFingerEnv
from envs.trifinger.experts import expert
from envs.trifinger.interventions.actors import Actor, GoalActor, PhysicalActor, PoseActor, VariablesActor, free
from envs.trifinger.robot.kinematics import Kinematics
from envs.trifinger.scene.views import FILM, Views
from envs.trifinger.source.causes import causes
from envs.trifinger.source.exploration import Drive, RandomTouch, ScriptedPush, joints_of
from envs.trifinger.source.saved import Layout
from envs.trifinger.source.sight import Sight

MODES = ("train", "still", "poses-b", "physics-a", "physics-b", "blocks-a", "blocks-b")
_OF_BLOCKS = ("block mass", "block size", "friction of floor and stage")
POLICIES = ("random", "scripted", "expert", "mixed")
OF_EXPERTS = ("expert", "mixed")
TRIES = 20  # draws of a change before the task's own value is kept, or a nearer one is tried
_EXPERTS_NOISE = 1 / 3  # of what explores: with all of it, a hold slips
_HALVINGS = 6  # of a value's distance before the search fails


class Arena:
    """options: those of TriFingerEnv, `task` among them.  speed: what an action means (see `Drive`)."""

    def __init__(self, options: Mapping, speed: float | None) -> None:
        self.env, self.drive = TriFingerEnv(**options, action_mode="joint_positions", normalized=False), Drive(speed)
        self.env.reset(seed=0)
        # where poses are drawn after them
        self.goals_place_blocks = any(path.startswith("tool_") for path in self.env.sample_goal("a"))
        self.layout = Layout(self.env.save())
        self.kinematics = Kinematics(self.env.settings["robot"])
        self.views = Views(self.env.settings["robot"], options["renderer"])

    def start(self, mode: str, rng: np.random.Generator) -> tuple[np.ndarray, tuple[str, ...]]:
        """-> the row of a fresh episode, and what kept the task's own values since every draw of it was refused.

        mode: train = poses of blocks and goals from space A; still = the task's start; poses-b = poses from space B; physics-a,
        physics-b = as train, with masses, frictions and sizes of that space; blocks-a, blocks-b = the same but for the masses
        of the links: with the light ones of space A the joints' controller oscillates, up to 20 rad/s.
        """
        if mode not in MODES:
            raise Problem(f"TriFinger has no mode '{mode}': {nearest(str(mode), MODES)}; set mode= of the split")
        self.env.reset(seed=int(rng.integers(2**31)))
        space = "b" if mode == "poses-b" else "a"
        drawn = {"poses of blocks": PoseActor(space=space), "goals": GoalActor(space)}
        actors = {} if mode == "still" else dict(reversed(drawn.items())) if self.goals_place_blocks else drawn
        if mode.startswith("physics"):
            actors = {"masses, frictions and sizes": PhysicalActor(space=mode[-1], sizes=True), **actors}
        if mode.startswith("blocks"):
            names = [name for cause in _OF_BLOCKS for name in self.causes().get(cause, ())]
            actors = {"masses and sizes of blocks, frictions": VariablesActor(names, mode[-1]), **actors}
        kept = tuple(name for name, actor in actors.items() if not self._changed(actor, rng))
        return self.layout.row(self.env.save()), kept

    def _changed(self, actor: Actor, rng: np.random.Generator) -> bool:
        """Whether one of an actor's draws was accepted."""
        return any(self.env.intervene(actor.request(self.env, rng)).accepted for _ in range(TRIES))

    def restore(self, row: np.ndarray) -> None:
        """Continues from a row. Its time is never over: past its end, an episode repeats its last step."""
        saved = self.layout.saved(row)
        control = saved["control"]
        self.env.restore(saved, steps=int(min(control["steps"], control["limit"] - 1)))

    def step(self, row: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, float, bool]:
        """-> the row after an action, the reward, whether the robot touches a block."""
        self.restore(row)
        now = row[self.layout.slices["joint_positions"]]
        _, reward, *_ = self.env.step(self.drive.joints(action, now))
        after = self.layout.row(self.env.save())
        return after, reward, self._touches()

    def _touches(self) -> bool:
        blocks = set(self.layout.blocks)
        return bool(blocks) and any(
            (a in blocks and b == "robot") or (b in blocks and a == "robot")
            for a, b, depth in self.env.world.contacts()
            if depth >= 0
        )

    def policy(self, policy: str | Callable, rng: np.random.Generator) -> Callable[[], np.ndarray]:
        """A policy for one episode of this environment: () -> action (9,) float32, with exploration noise for those by name."""
        if callable(policy):
            act, whole = policy(env=self.env, rng=rng), Drive(None)

            def asked() -> np.ndarray:
                now = self.env.state["joint_positions"]
                return self.drive.action(whole.joints(act(self.env.observe()), now), now).astype(np.float32)

            return asked
        if policy == "mixed":
            policy = ("random", "expert")[rng.integers(2)]
        joints, noise = self._explorer(policy, rng), self.drive.noise * (_EXPERTS_NOISE if policy == "expert" else 1)

        def explored() -> np.ndarray:
            now = self.env.state["joint_positions"]
            action = self.drive.action(joints(), now) + rng.normal(0, noise, 9)
            return np.clip(action, -1, 1).astype(np.float32)

        return explored

    def _explorer(self, policy: str, rng: np.random.Generator) -> Callable[[], np.ndarray]:
        """Where a policy by name wants the joints now: () -> (9,) radians."""
        if policy == "expert":
            controller = expert(self.env)
            return lambda: controller(self.env.observe())
        made = (RandomTouch if policy == "random" else ScriptedPush)(rng, self.kinematics.joints)
        return joints_of(made, self.env, self.kinematics)

    def episode(self, seed: int, mode: str, length: int, policy: str | Callable) -> tuple[dict[str, np.ndarray], tuple]:
        """`length` actions of a fresh policy, and what its start kept (see `start`).

        -> state (T + 1, S), action, reward and event_contact (T + 1, ...), the last row of these three padding.
        """
        rng = np.random.default_rng(seed)
        row, kept = self.start(mode, rng)
        act = self.policy(policy, rng)
        columns = {
            "action": np.zeros((length + 1, 9), np.float32), "reward": np.zeros(length + 1, np.float32),
            "state": np.empty((length + 1, self.layout.width)), "event_contact": np.zeros(length + 1, bool),
        }  # fmt: skip
        for t in range(length):
            action = np.asarray(act(), np.float32)
            columns["state"][t], columns["action"][t] = row, action
            row, columns["reward"][t], columns["event_contact"][t] = self.step(row, action)
        columns["state"][length] = row
        return columns, kept

    def walk(self, row: np.ndarray, seed: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """The row after some steps of the random policy, and its actions (steps, 9)."""
        self.restore(row)
        act, actions = self.policy("random", np.random.default_rng(seed)), np.empty((steps, 9), np.float32)
        for t in range(steps):
            actions[t] = act()
            row, *_ = self.step(row, actions[t])
        return row, actions

    def grade(self, row: np.ndarray, goal: np.ndarray) -> float:
        """The task's fractional success, where the blocks (or tips) of the other row are the goal."""
        self.restore(goal)
        wanted, _ = self.env.goals()
        self.restore(row)
        achieved, _ = self.env.goals()
        return self.env.task.measure(achieved, wanted)

    def solved(self, row: np.ndarray, goal: np.ndarray) -> bool:
        """Whether that is the task's success."""
        return self.env.task.solved(self.grade(row, goal))

    def own_goal(self, row: np.ndarray) -> np.ndarray:
        """The row with every block at rest where its own goal stands. A Problem without blocks, or where they have no goals."""
        row, slices = row.copy(), self.layout.slices
        if not self.layout.blocks:
            raise Problem(f"{self.env.task.name} moves no block, so that its goals are no states; set tasks=walk")
        for block in self.layout.blocks:
            goal = block.replace("tool_", "goal_", 1)
            if f"{goal}/cartesian_position" not in slices:
                raise Problem(
                    f"{self.env.task.name} has no goal for each block, so that its goals are no states; set tasks=walk"
                )
            for key in ("cartesian_position", "orientation"):
                row[slices[f"{block}/{key}"]] = row[slices[f"{goal}/{key}"]]
            for key in ("linear_velocity", "angular_velocity"):
                row[slices[f"{block}/{key}"]] = 0
        return row

    def steps(self, rows: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """The rows (B, S) after one action each (B, 9)."""
        return np.array([self.step(row, action)[0] for row, action in zip(rows, actions)])

    def intervene(self, row: np.ndarray, variable: str, rng: np.random.Generator) -> np.ndarray:
        """The row with another value of one variable, drawn from spaces A and B until the environment accepts one; after every
        TRIES refusals the distance from the present value is halved."""
        self.restore(row)
        known = self.env.variables()[variable]
        low, high = known.space("ab") or known.bounds
        reasons, now = (), self.env.value(variable)
        for attempt in range(TRIES * _HALVINGS):
            verdict = self.env.intervene({variable: now + 0.5 ** (attempt // TRIES) * (rng.uniform(low, high) - now)})
            if verdict.accepted:
                break
            reasons = verdict.reasons
        else:
            raise Problem(f"none of {TRIES * _HALVINGS} values of '{variable}' was accepted ({reasons[0]}); choose another "
                          f"variable")  # fmt: skip
        return self._row_after(row, (variable,))

    def redraw(self, row: np.ndarray, variables: Sequence[str], space: str, seed: int) -> tuple[np.ndarray, bool]:
        """-> (the row with other values of these variables, drawn from space a or b; whether the environment accepted one of
        TRIES draws: if not, the row is the one given)."""
        self.restore(row)
        done = self._changed(VariablesActor(variables, space), np.random.default_rng(seed))
        return (self._row_after(row, variables), True) if done else (row, False)

    def _row_after(self, row: np.ndarray, variables: Sequence[str]) -> np.ndarray:
        """The row of the present state, in which some variables of `row` were set."""
        # Not `save`: the engine returns quaternions with other last digits.
        after, slices = self.layout.row(self.env.state | {"control": self.layout.saved(row)["control"]}), self.layout.slices
        if "joint_positions" in variables:
            after[slices["control/target"]] = after[slices["joint_positions"]]  # the moved fingers hold their new pose
        return after

    def variables(self) -> tuple[str, ...]:
        """Variables that have a space, without those that say how many objects there are: a row holds so many."""
        return tuple(path for path in free(self.env.variables(), "ab") if path not in self.env.task.family)

    def causes(self) -> dict[str, tuple[str, ...]]:
        """Causes that can be set, and the variables of each."""
        return causes(self.variables())

    def film(self, rows: np.ndarray) -> np.ndarray:
        """What the camera of films sees of rows (B, S), without goals: (B, 240, 320, 3) uint8."""
        return np.array([self.views.now(self.layout.saved(row), (FILM,))[0] for row in rows])

    def pictures(self, rows: np.ndarray, sight: Sight) -> np.ndarray:
        """Pictures of rows (B, S): (B, size, size, colours) uint8."""
        cameras = sight.cameras
        drawn = [[self.views.now(state, cameras) for state in sight.moments(self.layout.saved(row))] for row in rows]
        return sight.shown(np.array(drawn).reshape(len(rows), -1, *np.shape(drawn)[3:]))
