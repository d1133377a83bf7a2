"""TriFingerEnv: a task in the arena, as a Gymnasium environment.

    env = make("pushing");  observation, info = env.reset(seed=0);  env.step(env.action_space.sample())
    env.unwrapped.intervene({"tool_block": {"mass": 0.04}})

Episodes share nothing but the start that `set_start` gave.
"""

from collections.abc import Callable, Mapping, Sequence

import gymnasium as gym
import numpy as np

from envs.bodies.rendering.cameras import Camera
from envs.problem import Problem, nearest
from envs.trifinger.env.options import check_choices, check_steps
from envs.trifinger.interventions.feasibility import Feasibility
from envs.trifinger.interventions.interventions import Interventions, Verdict, value_of
from envs.trifinger.robot.actions import Actions
from envs.trifinger.robot.kinematics import Kinematics
from envs.trifinger.scene.simulation import TIME_STEP, World
from envs.trifinger.scene.state import OBJECTS, State, arena, copied, of_type
from envs.trifinger.scene.variables import Variable
from envs.trifinger.scene.views import VIEWS, Views
from envs.trifinger.tasks import Task, make_task
from envs.trifinger.tasks.observations import Extras, Observer
from envs.trifinger.tasks.rewards import Rewards
from envs.trifinger.tasks.task import Changes, StepContext


class TriFingerEnv(gym.Env):
    """One arena.

    action: (9,) in [-1, 1], or in the units of `action_mode` where normalized=False; what lies outside is cut, or refused
    where clip=False.  observation: structured = the vector of `observations` (float64); pixel = (2 n, H, W, 3) uint8, the n
    cameras' views of the scene, then of the goal.  reward: dense = time step x (weighted terms + weighted fractional
    success), fractional = time step x fractional success, sparse = time step where solved, none = 0.
    dense_weights, fractional_weight: in place of the task's.  terminated: never, the tasks go on to their end.  truncated:
    the time is over; a step after it is refused.
    info: fractional_success (float in [0, 1]), success (bool).  limit: steps of an episode.

    score: exact | legacy (see `overlap`).  dynamics: default | legacy (see `Robot`).  collision: mesh | primitive.
    space: where interventions must lie, a | b | ab; None = only within bounds, which variables that are in no space need.
    source: code | paper (see `variables`).  feasibility: strict | legacy (see `Feasibility`).
    extra_observations: name -> function of a StepContext, whose numbers follow the structured vector as they are:
    {"tip_gap": lambda now: now.tips[0] - now.position("tool_block")}.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 25}

    def __init__(
        self, task: str | Task = "pushing", *, action_mode: str = "joint_positions", skip_frame: int = 10,
        normalized: bool = True, clip: bool = True, observation: str = "structured", cameras: tuple[Camera, ...] = VIEWS,
        renderer: str = "auto", reward: str = "dense", score: str = "exact", dynamics: str = "default",
        collision: str = "mesh", robot: str = "edu", space: str | None = "ab", source: str = "code",
        dense_weights: Sequence[float] | None = None, fractional_weight: float | None = None,
        feasibility: str = "strict", max_steps: int | None = None, task_params: Mapping | None = None,
        extra_observations: Mapping[str, Callable[[StepContext], np.ndarray]] | None = None, render_mode: str | None = None,
    ) -> None:  # fmt: skip
        chosen = {"observation": observation, "score": score, "space": space, "source": source}
        check_choices(**chosen, renderer=renderer, render_mode=render_mode)
        check_steps(skip_frame, max_steps)
        if observation == "pixel" and not cameras:
            raise Problem("observation=pixel needs one camera at least; got cameras=()")
        self._actions = Actions(action_mode, normalized, clip)
        self.action_space = self._actions.space
        self.task = make_task(task, **dict(task_params or {}))
        self.rewards = Rewards(self.task, reward, dense_weights, fractional_weight)
        self.world = World(robot, collision, dynamics)
        self.skip_frame, self.score, self.source, self.render_mode = skip_frame, score, source, render_mode
        self.max_steps, self._normalized = max_steps, normalized
        self._pixels, self._cameras = observation == "pixel", tuple(cameras)
        self._views, self._model, self._kinematics = Views(robot, renderer), robot, None
        self._interventions = Interventions(self.task, Feasibility(feasibility, robot, collision), source, space)
        self._extras = Extras(extra_observations or {})
        parameters = {name: np.asarray(value).tolist() for name, value in dict(task_params or {}).items()}
        shown = {"cameras": [camera.plain() for camera in self._cameras]} if self._pixels else {}
        self.settings = {  # all that decides what a step does and gives, but for the renderer, which `drawn_by` names
            **chosen, **shown, "action_mode": action_mode, "skip_frame": skip_frame, "normalized": normalized, "clip": clip,
            "reward": reward, "dynamics": dynamics, "collision": collision, "robot": robot, "feasibility": feasibility,
            "max_steps": max_steps, "task_params": parameters, "extra_observations": self._extras.names,
            "dense_weights": list(self.rewards.dense_weights), "fractional_weight": self.rewards.fractional_weight,
        }  # fmt: skip
        self._start = self._default_start()
        self.limit = self._time_limit(self._start)
        self._watch(self._start)
        self._steps: int | None = None

    def _default_start(self) -> State:
        return {**arena(self.world.robot.default_masses, self.task.start_pose), **self.task.objects()}

    def _watch(self, state: State) -> None:
        """Observer and spaces for the objects of a state."""
        if self._extras.names:
            self.world.load(state)
            self._extras.measure(self._context(np.zeros(9)))
        self._observer = Observer(self.task.features(state), self.limit * self.dt, self._normalized, self._extras.widths)
        if self._pixels:
            shape = (2 * len(self._cameras), self._cameras[0].height, self._cameras[0].width, 3)
            self.observation_space = gym.spaces.Box(0, 255, shape, np.uint8)
        else:
            self.observation_space = gym.spaces.Box(-np.inf, np.inf, (len(self._observer),), np.float64)

    def _time_limit(self, start: State) -> int:
        return self.max_steps or round(self.task.seconds(start) / self.dt)

    @property
    def dt(self) -> float:
        """Seconds of a step."""
        return self.skip_frame * TIME_STEP

    @property
    def state(self) -> State:
        """A copy of the state as it is; `restore` takes it back."""
        self._need_reset()
        return copied(self._now.state)

    def _need_reset(self) -> None:
        if self._steps is None:
            raise Problem("the environment was not reset; call reset() first")

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        """options: {"interventions": {...}}, carried out on the start; a refused one is a Problem."""
        super().reset(seed=seed)
        options = dict(options or {})
        request = options.pop("interventions", None)
        if options:
            raise Problem(f"reset has no option '{next(iter(options))}': known: interventions")
        state = self._start
        if request:
            verdict, state = self._interventions.attempt(request, state, self.np_random)
            if not verdict.accepted:
                raise Problem(f"the start was refused: {'; '.join(verdict.reasons)}")
        self._begin(state, {"steps": 0, "limit": self._time_limit(state)})
        return self.observe(), self.success()

    def _begin(self, state: State, control: Mapping) -> None:
        """Continues from a state. control: all or some of `_control`."""
        self.world.load(state)
        stale = self._observer.features != self.task.features(state) or self.limit != int(control["limit"])
        self._steps, self.limit = int(control["steps"]), int(control["limit"])
        if stale:
            self._watch(state)
        self._target = np.array(control.get("target", state["joint_positions"]))
        torques = np.array(control.get("torques", np.zeros(9)))
        # The engine would return quaternions with other last digits, and a branch from those would differ.
        self._now = StepContext(self.world.loaded, self.world.robot.tips(), torques)

    def _control(self) -> dict[str, np.ndarray]:
        """What an episode knows besides the scene: the joint target, the last torques, the time."""
        time = {"steps": np.array(self._steps), "limit": np.array(self.limit)}
        return {"target": self._target.copy(), "torques": self._now.torques.copy(), **time}

    def _context(self, torques: np.ndarray) -> StepContext:
        return StepContext(self.world.read(), self.world.robot.tips(), torques)

    def step(self, action):
        self._need_reset()
        if self._steps >= self.limit:
            raise Problem(f"the episode is over after {self.limit} steps; call reset()")
        before, command = self._now, self._actions.read(action, self._origin())
        if self._actions.meaning == "end_effector_positions":
            command = self.joints_for(command.reshape(3, 3))
        if self._actions.meaning == "joint_torques":
            torques = self.world.push(command, self.skip_frame)
        else:
            self._target = command
            torques = self.world.follow(command, self.skip_frame)
        self._steps += 1
        self._now = self._context(torques)
        info = self.success()
        reward = self.dt * self.rewards.of_step(self._now, before, info["fractional_success"])
        return self.observe(), reward, False, self._steps >= self.limit, info

    def _origin(self) -> np.ndarray:
        """What a delta is added to: the last joint target, the torques or the tips as they are."""
        tips = self._now.tips.ravel()
        return {"joint_positions": self._target, "joint_torques": self._now.torques}.get(self._actions.meaning, tips)

    def joints_for(self, tips: np.ndarray) -> np.ndarray:
        """Joints (9,) whose tips (3, 3) come nearest to those given (see `Kinematics.joints`)."""
        if self._kinematics is None:
            self._kinematics = Kinematics(self._model)
        return self._kinematics.joints(tips, self._now.state["joint_positions"])

    def observe(self) -> np.ndarray:
        """The current observation."""
        self._need_reset()
        if self._pixels:
            state, cameras = self._now.state, self._cameras
            return np.concatenate([self._views.now(state, cameras), self._views.goal(state, cameras)])
        now = self._now
        return self._observer.observe(now.state, now.tips, (self.limit - self._steps) * self.dt, self._extras.of(now))

    def success(self) -> dict:
        """{"fractional_success": float, "success": bool} of the current state"""
        self._need_reset()
        fraction = self.task.fraction(self._now, self.score)
        return {"fractional_success": fraction, "success": self.task.solved(fraction)}

    def variables(self) -> dict[str, Variable]:
        """Path -> Variable, for the state as it is."""
        return self.task.variables(self._now.state if self._steps is not None else self._start, self.source)

    def value(self, path: str) -> np.ndarray:
        """The current value of a variable."""
        self._need_reset()
        try:
            return np.array(value_of(self._now.state, self.task, path))
        except KeyError:
            raise Problem(f"there is no variable '{path}': {nearest(path, self.variables())}") from None

    def intervene(self, request: Mapping) -> Verdict:
        """Set variables now, within the episode; all or nothing. A refused request changes nothing, not a bit.
        After `save` or `restore`, whatever the request does not affect continues bit for bit as without it; at other times
        it acts as a `save`, too."""
        self._need_reset()
        verdict, state = self._interventions.attempt(request, self._now.state, self.np_random)
        if verdict.accepted:
            control = self._control()
            if not np.array_equal(state["joint_positions"], self._now.state["joint_positions"]):
                del control["target"]  # the moved fingers hold their new pose
            self._begin(state, control)
        return verdict

    def set_start(self, request: Mapping | None) -> Verdict:
        """Sets the start of all episodes from the next reset on; None = the start of the task."""
        start = self._default_start()
        verdict, state = self._interventions.attempt(request or {}, start, self.np_random)
        if verdict.accepted:
            self._start = state
        return verdict

    def sample_goal(self, space: str = "ab") -> Changes:
        """A new goal from a space, as a request to `intervene`; the env's own generator draws it."""
        state = self._now.state if self._steps is not None else self._start
        return self.task.sample_goal(self.np_random, state, space, self.source)

    def save(self) -> State:
        """The exact state, with the robot's command and the time under "control"; the episode continues from it as every
        restored one does (see `World.save`)."""
        self._need_reset()
        state = self.world.save()
        self._now = StepContext(state, self._now.tips, self._now.torques)
        return copied(state) | {"control": self._control()}

    def restore(self, state: State, steps: int | None = None) -> None:
        """Restores a saved state, of this environment or of another one of the same task. steps: elapsed steps, in place of the
        saved number. A state without "control" (from `state`) keeps the present time."""
        scene = {name: value for name, value in state.items() if name != "control"}
        come_and_go = of_type(self._start, *OBJECTS) if self.task.family else ()
        if lacking := sorted(self._start.keys() - come_and_go - scene.keys()):
            raise Problem(f"this is no state of {self.task.name}: it has no {lacking[0]}; restore what its save() gave")
        control = {"steps": self._steps or 0, "limit": self.limit, **state.get("control", {})}
        self._begin(scene, control if steps is None else {**control, "steps": steps})

    def render(self) -> np.ndarray:
        """The scene with its goals, (240, 320, 3) uint8."""
        self._need_reset()
        return self._views.film(self._now.state)

    def goals(self) -> tuple[np.ndarray, np.ndarray]:
        """(what is measured, what it is measured against), as `task.measure` reads them."""
        self._need_reset()
        return self.task.achieved(self._now), self.task.desired(self._now.state)

    def entries(self) -> list[str]:
        """What each number of the structured observation is: 'tool_block/size/2'."""
        return self._observer.names()

    def named(self, observation: np.ndarray) -> dict[str, np.ndarray]:
        """The parts of a structured observation in their units: 'tool_block/size' -> (3,) metres."""
        return self._observer.named(observation)

    def picture(self, camera: Camera) -> np.ndarray:
        """What a camera sees of the scene, (H, W, 3) uint8."""
        self._need_reset()
        return self._views.now(self._now.state, (camera,))[0]

    @property
    def drawn_by(self) -> str:
        """Name of the renderer of pictures: moderngl | bullet."""
        return self._views.drawn_by

    def depth(self) -> np.ndarray:
        """(cameras, H, W) metres along each camera's axis."""
        self._need_reset()
        return self._views.depth(self._now.state, self._cameras)

    def segments(self) -> np.ndarray:
        """(cameras, H, W) uint8: what each pixel shows, in the numbers of `drawing`."""
        self._need_reset()
        return self._views.segments(self._now.state, self._cameras)

    def close(self) -> None:
        self._views.close()
        self.world.close()
        self._interventions.close()
