"""Scripted experts: trajectories of the tips, inverse kinematics, and a joint controller that is limited in torque.

    controller = expert(env);  controller(observation) -> action

They read the structured observation alone, so neither masses nor frictions, and act in joint positions as every learner does.
"""

from functools import lru_cache

import numpy as np

from envs.problem import Problem
from envs.trifinger.env.play import Controller
from envs.trifinger.experts.hands import Hands
from envs.trifinger.experts.senses import read
from envs.trifinger.experts.skills import Skills
from envs.trifinger.experts.tasks import TASKS
from envs.trifinger.robot.kinematics import Kinematics
from envs.trifinger.robot.robot import JOINTS_HIGH, JOINTS_LOW

_NEEDS = {"action_mode": "joint_positions", "observation": "structured"}
_kinematics = lru_cache(Kinematics)  # of a robot model; building one takes as long as a hundred steps


def expert(env) -> Controller:
    """A controller for one episode that begins now.

    A Problem where the task has none, or the env acts or observes otherwise.
    """
    base = env.unwrapped
    name, settings = base.task.name, base.settings
    if name not in TASKS:
        raise Problem(f"there is no expert for {name}; there are experts for {', '.join(TASKS)}")
    for key, needed in _NEEDS.items():
        if settings[key] != needed:
            raise Problem(f"an expert needs {key}={needed}, the environment has {settings[key]}; make it so")
    hands = story = None

    def act(observation: np.ndarray) -> np.ndarray:
        nonlocal hands, story
        scene = read(base.named(observation))
        if hands is None:
            hands = Hands(_kinematics(settings["robot"]), base.dt, scene)
            story = TASKS[name](Skills(hands))
        hands.scene = scene
        joints = hands.joints(next(story, (hands.tips, np.zeros((3, 3)))))
        return 2 * (joints - JOINTS_LOW) / (JOINTS_HIGH - JOINTS_LOW) - 1 if settings["normalized"] else joints

    return act
