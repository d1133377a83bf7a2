"""Sets for offline learning: what the expert, a random policy or both did in a task, as an episode file.

    record_set("pushing", "mixed", "pushing-mixed.h5", episodes=100)
    to_minari("pushing-mixed.h5", "causalwm/pushing-mixed-v0")      of envs/trifinger/env/record.py
"""

from pathlib import Path

import numpy as np

from envs.problem import Problem, nearest
from envs.trifinger.env.env import TriFingerEnv
from envs.trifinger.env.play import Controller, EachEpisode
from envs.trifinger.env.record import record
from envs.trifinger.experts import expert
from envs.trifinger.experts.tasks import TASKS
from envs.trifinger.interventions.actors import GoalActor
from envs.trifinger.interventions.curriculum import Curriculum, Phase
from envs.trifinger.robot.kinematics import Kinematics
from envs.trifinger.source.exploration import Drive, RandomTouch, joints_of

SETS = {"random": ("random",), "expert": ("expert",), "mixed": ("expert", "random")}  # set -> whose episodes, in turn


def record_set(task: str, kind: str, path: str | Path, episodes: int, seed: int = 0, camera=None, **options) -> None:
    """Records `episodes` whole episodes with goals of space A. After a kill the same call resumes.

    kind: expert; random (a finger goes near a block or near its own place, see `source.exploration`); mixed, the expert's and
    the random policy's episodes in turn. Nobody explores.  options: of TriFingerEnv.
    """
    if kind not in SETS:
        raise Problem(f"there is no set '{kind}': {nearest(str(kind), SETS)}")
    if "expert" in SETS[kind] and task not in TASKS:
        raise Problem(f"there is no expert for {task}, which set '{kind}' needs; there are experts for {', '.join(TASKS)}")
    env = TriFingerEnv(task, **options)
    mode = env.settings["action_mode"]
    if "random" in SETS[kind] and mode != "joint_positions":
        env.close()
        raise Problem(f"set '{kind}' moves joints to positions, got action_mode={mode}; leave action_mode= out")
    kinematics, drive = Kinematics(env.settings["robot"]), Drive(None)

    def controller(base, episode: int) -> Controller:
        if SETS[kind][episode % len(SETS[kind])] == "expert":
            return expert(base)
        joints = joints_of(RandomTouch(np.random.default_rng([seed, episode]), kinematics.joints), base, kinematics)
        if not base.settings["normalized"]:
            return lambda observation: joints()
        return lambda observation: drive.action(joints(), base.state["joint_positions"])

    try:
        record(Curriculum(env, [Phase(GoalActor())]), EachEpisode(controller), path, episodes, seed, camera, {"set": kind})
    finally:
        env.close()
