"""Where the finger tips are for given joints, and joints for wanted tips (pinocchio)."""

import numpy as np

from envs.trifinger import lacking

try:
    import pinocchio
except ModuleNotFoundError as error:
    raise lacking(error.name) from error

from envs.trifinger.robot import FLOOR, REST
from envs.trifinger.urdf import urdf_file

_TOLERANCE = 1e-4  # metres
_STEPS = 40  # of Newton's method, damped; about ten are usual
_STARTS = [
    REST[:3],
    *(np.array([a, b, c]) for b, c in ((0.9, -1.7), (-0.4, -1.4), (0.6, -2.6), (-0.8, 1.6)) for a in (0.0, -0.9, 0.8)),
]


class Kinematics:
    """Of one robot model. tips: (3, 3) metres, z from the floor, fingers 0, 120, 240."""

    def __init__(self, model: str = "edu") -> None:
        with urdf_file(model) as path:
            self._model = pinocchio.buildModelFromUrdf(str(path))
        self._data = self._model.createData()
        self._frames = [self._model.getFrameId(f"finger_tip_link_{angle}") for angle in (0, 120, 240)]
        self.low, self.high = self._model.lowerPositionLimit.copy(), self._model.upperPositionLimit.copy()

    def tips(self, joints: np.ndarray) -> np.ndarray:
        """joints (9,) radians -> (3, 3)"""
        pinocchio.framesForwardKinematics(self._model, self._data, np.asarray(joints, float))
        return np.array([self._data.oMf[frame].translation for frame in self._frames]) - (0, 0, FLOOR)

    def link_poses(self, joints: np.ndarray) -> dict[str, np.ndarray]:
        """Every link of the URDF: its name -> (4, 4) pose in the world, whose zero lies FLOOR below the floor."""
        pinocchio.framesForwardKinematics(self._model, self._data, np.asarray(joints, float))
        bodies = (i for i, frame in enumerate(self._model.frames) if frame.type == pinocchio.FrameType.BODY)
        return {self._model.frames[i].name: self._data.oMf[i].homogeneous for i in bodies}

    def joints(self, tips: np.ndarray, start: np.ndarray = REST) -> np.ndarray:
        """Joints (9,) within their limits whose tips come nearest to the wanted ones, searched from `start`.

        Each finger alone: Newton's method with damping (Levenberg and Marquardt), from `start`; where that leads nowhere,
        from other poses in turn. Within .1 mm where the place can be reached; otherwise as near as the search came.
        """
        joints = np.clip(np.asarray(start, float), self.low, self.high)
        for finger, wanted in enumerate(np.asarray(tips, float)):
            part = slice(3 * finger, 3 * finger + 3)
            found, error = self._search(joints, finger, wanted)
            for pose in _STARTS:
                if error <= _TOLERANCE:
                    break
                elsewhere = joints.copy()
                elsewhere[part] = pose
                other, other_error = self._search(elsewhere, finger, wanted)
                if other_error < error:
                    found, error = other, other_error
            joints[part] = found
        return joints

    def _search(self, joints: np.ndarray, finger: int, wanted: np.ndarray) -> tuple[np.ndarray, float]:
        """-> the finger's joints (3,), distance of its tip from the wanted place in metres."""
        joints, part, frame = joints.copy(), slice(3 * finger, 3 * finger + 3), self._frames[finger]
        wanted = wanted + (0, 0, FLOOR)
        low, high = self.low[part], self.high[part]
        damping, gap = 1e-4, self._gap(joints, frame, wanted)
        for _ in range(_STEPS):
            if gap @ gap < _TOLERANCE**2 / 100:
                break
            jacobian = pinocchio.computeFrameJacobian(
                self._model, self._data, joints, frame, pinocchio.LOCAL_WORLD_ALIGNED
            )[:3, part]  # fmt: skip
            step = np.linalg.solve(jacobian.T @ jacobian + damping * np.eye(3), jacobian.T @ gap)
            trial = joints.copy()
            trial[part] = np.clip(joints[part] + step, low, high)
            trial_gap = self._gap(trial, frame, wanted)
            if trial_gap @ trial_gap < gap @ gap:
                joints, gap, damping = trial, trial_gap, max(damping / 4, 1e-8)
            else:
                damping *= 8
                if damping > 1e3:
                    break
        return joints[part], float(np.sqrt(gap @ gap))

    def _gap(self, joints: np.ndarray, frame: int, wanted: np.ndarray) -> np.ndarray:
        pinocchio.framesForwardKinematics(self._model, self._data, joints)
        return wanted - self._data.oMf[frame].translation
