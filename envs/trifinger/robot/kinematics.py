"""Where the finger tips are for given joints, and joints for wanted tips (pinocchio)."""

import math
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from envs.problem import lacking

try:
    import pinocchio
except ModuleNotFoundError as error:
    raise lacking(error.name) from error

from envs.trifinger.robot.robot import FLOOR, REST
from envs.trifinger.robot.urdf import bare_urdf

_TOLERANCE = 1e-4  # metres
_STEPS = 40  # of Newton's method, damped; about ten are usual
_PROGRESS = 0.003  # of the distance left: two steps running that gain less end a search that cannot reach its target
_GRID = 0.2  # radians between the poses of a finger that are known beforehand
_NEAREST = 4  # poses of the grid that are tried for a target within reach
_FINE = 0.06  # metres: a target so near to a known tip may be within reach


class Kinematics:
    """Of one robot model. tips: (3, 3) metres, z from the floor, fingers 0, 120, 240."""

    def __init__(self, model: str = "edu") -> None:
        self._model = pinocchio.buildModelFromXML(bare_urdf(model))
        self._data = self._model.createData()
        self._frames = [self._model.getFrameId(f"finger_tip_link_{angle}") for angle in (0, 120, 240)]
        self._elbows = [self._model.getFrameId(f"finger_lower_link_{angle}") for angle in (0, 120, 240)]
        self._fingers = [self._alone(finger) for finger in range(3)]
        self.low, self.high = self._model.lowerPositionLimit.copy(), self._model.upperPositionLimit.copy()

    def _alone(self, finger: int) -> tuple:
        """The model of one finger, the others being held, its data, and the frame of its tip."""
        others = [i for i in range(1, 10) if (i - 1) // 3 != finger]
        model = pinocchio.buildReducedModel(self._model, others, np.zeros(9))
        return model, model.createData(), model.getFrameId(f"finger_tip_link_{120 * finger}")

    def tips(self, joints: np.ndarray) -> np.ndarray:
        """joints (9,) radians -> (3, 3)"""
        return self._places(joints, self._frames)

    def tip_rotations(self, joints: np.ndarray) -> np.ndarray:
        """How the last link of each finger is turned, (3, 3, 3)."""
        pinocchio.framesForwardKinematics(self._model, self._data, np.asarray(joints, float))
        return np.array([self._data.oMf[frame].rotation for frame in self._frames])

    def elbows(self, joints: np.ndarray) -> np.ndarray:
        """Where the last link of each finger begins, (3, 3) as tips are."""
        return self._places(joints, self._elbows)

    def _places(self, joints: np.ndarray, frames: list[int]) -> np.ndarray:
        pinocchio.framesForwardKinematics(self._model, self._data, np.asarray(joints, float))
        return np.array([self._data.oMf[frame].translation for frame in frames]) - (0, 0, FLOOR)

    def jacobians(self, joints: np.ndarray) -> np.ndarray:
        """(3, 3, 3): of each finger, how its tip moves with its three joints, metres per radian."""
        found = []
        for finger, (model, data, frame) in enumerate(self._fingers):
            own = np.asarray(joints, float)[3 * finger : 3 * finger + 3]
            found.append(pinocchio.computeFrameJacobian(model, data, own, frame, pinocchio.LOCAL_WORLD_ALIGNED)[:3])
        return np.array(found)

    def gravity(self, joints: np.ndarray) -> np.ndarray:
        """Torques (9,) that hold the fingers still in these joints, newton metres, with the masses of the URDF."""
        return pinocchio.computeGeneralizedGravity(self._model, self._data, np.asarray(joints, float)).copy()

    def link_poses(self, joints: np.ndarray) -> dict[str, np.ndarray]:
        """Every link of the URDF: its name -> (4, 4) pose in the world, whose zero lies FLOOR below the floor."""
        pinocchio.framesForwardKinematics(self._model, self._data, np.asarray(joints, float))
        bodies = (i for i, frame in enumerate(self._model.frames) if frame.type == pinocchio.FrameType.BODY)
        return {self._model.frames[i].name: self._data.oMf[i].homogeneous for i in bodies}

    def joints(self, tips: np.ndarray, start: np.ndarray = REST) -> np.ndarray:
        """Joints (9,) within their limits whose tips come nearest to the wanted ones, searched from `start`.

        Each finger alone: Newton's method with damping (Levenberg and Marquardt), from `start`; where that leads nowhere, from
        the poses of a grid whose tips are nearest; for a target out of reach from one of them alone, since a step of the
        environment waits for it. Within .1 mm where the target can be reached, otherwise near the nearest point of the range.
        """
        joints = np.clip(np.asarray(start, float), self.low, self.high)
        for finger, wanted in enumerate((np.asarray(tips, float) + (0, 0, FLOOR)).tolist()):
            part = slice(3 * finger, 3 * finger + 3)
            found, error = self._search(finger, joints[part], wanted)
            if error > _TOLERANCE:
                distances, poses = self._known_tips[finger].query(wanted, _NEAREST)
                near = distances[0] < _FINE
                for pose in poses if near else poses[: int(distances[0] < error)]:
                    other, other_error = self._search(finger, self._known_poses[pose], wanted)
                    if other_error < error - _TOLERANCE:  # a finger does not turn over for nothing
                        found, error = other, other_error
                    if error < _TOLERANCE:
                        break
            joints[part] = found
        return joints

    @cached_property
    def _known_poses(self) -> np.ndarray:
        """A finger's joints on a grid, (n, 3)."""
        axes = (np.arange(low, high + _GRID, _GRID) for low, high in zip(self.low[:3], self.high[:3]))
        return np.clip(np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3), self.low[:3], self.high[:3])

    @cached_property
    def _known_tips(self) -> list[cKDTree]:
        """Where the tips of each finger are in those poses, in the world."""
        tips = np.array([self.tips(np.tile(pose, 3)) for pose in self._known_poses]) + (0, 0, FLOOR)
        return [cKDTree(tips[:, finger]) for finger in range(3)]

    def _search(self, finger: int, joints: np.ndarray, wanted: list[float]) -> tuple[np.ndarray, float]:
        """-> the finger's joints (3,), distance of its tip from the target in the world, metres."""
        model, data, frame = self._fingers[finger]
        low, high = self.low[3 * finger : 3 * finger + 3], self.high[3 * finger : 3 * finger + 3]

        def gap_of(joints: np.ndarray) -> list[float]:
            pinocchio.framesForwardKinematics(model, data, joints)
            return [a - b for a, b in zip(wanted, data.oMf[frame].translation.tolist())]

        gap = gap_of(joints)
        error, damping, slow = math.hypot(*gap), 1e-4, 0
        for _ in range(_STEPS):
            if error < _TOLERANCE / 10 or damping > 1e3 or slow > 1:
                break
            jacobian = pinocchio.computeFrameJacobian(model, data, joints, frame, pinocchio.LOCAL_WORLD_ALIGNED)
            step = _damped(jacobian[:3].T.tolist(), gap, damping)
            trial = np.minimum(np.maximum(joints + step, low), high)
            trial_gap = gap_of(trial)
            trial_error = math.hypot(*trial_gap)
            if trial_error < error:
                slow = slow + 1 if error - trial_error < _PROGRESS * error else 0
                joints, gap, error, damping = trial, trial_gap, trial_error, max(damping / 4, 1e-8)
            else:
                damping *= 8
        return joints, error


def _damped(columns: list[list[float]], gap: list[float], damping: float) -> np.ndarray:
    """(J^T J + damping I)^-1 J^T gap by Cramer's rule, of plain floats: numpy takes longer to begin than this to end.

    columns: of the Jacobian J, three of three.
    """
    (a, b, c), (d, e, f) = columns[0], columns[1]
    g, h, i = columns[2]
    u, v, w = gap
    xx, yy, zz = a * a + b * b + c * c + damping, d * d + e * e + f * f + damping, g * g + h * h + i * i + damping
    xy, xz, yz = a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i
    p, q, r = a * u + b * v + c * w, d * u + e * v + f * w, g * u + h * v + i * w
    m, n, o = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy  # cofactors
    s, t, k = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    scale = 1 / (xx * m + xy * n + xz * o)
    return np.array([scale * (m * p + n * q + o * r), scale * (n * p + s * q + t * r), scale * (o * p + t * q + k * r)])
