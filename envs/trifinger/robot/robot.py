"""The TriFinger in Bullet: nine joints driven by torques, a PD controller, the safety limits of the real robot.

Joints and tips go finger by finger (0, 120, 240 in the URDF; 60, 120, 300 in the names of variables): upper, middle, lower.
"""

import numpy as np

from envs.trifinger.robot.urdf import urdf_file

FINGERS = (60, 120, 300)  # as variables name them
LINKS = tuple(f"robot_finger_{finger}_link_{link}" for finger in FINGERS for link in range(4))  # 0 is the fixed base
REST = np.array([0.0, np.pi / 4, -np.pi / 4] * 3)  # radians
RAISED = np.array([-1.56, -0.08, -2.7] * 3)
JOINTS_LOW, JOINTS_HIGH = np.array([-1.57, -1.2, -3.0] * 3), np.array([1.0, 1.57, 3.0] * 3)  # of actions and observations
TIPS_LOW, TIPS_HIGH = np.array([-0.5, -0.5, 0.0] * 3), np.array([0.5, 0.5, 0.5] * 3)  # metres from the floor, likewise
MAX_TORQUE = 0.36  # newton metres
FLOOR = 0.011  # metres from the world's zero to the floor; every height that users see begins there
GAIN = 10.0  # newton metres per radian, of the PD controller
DAMPING = (0.1, 0.3, 0.001) * 3  # newton metre seconds per radian, of the PD controller
_LEGACY_BOXES = {  # metres: upper, middle, lower links of CausalWorld have the inertias of such boxes
    "edu": ((0.209297, 0.070840, 0.050991), (0.050400, 0.070399, 0.207339), (0.033985, 0.027864, 0.189497)),
}
SAFETY = (0.08, 0.08, 0.04) * 3  # the same, subtracted before a torque goes to a motor


class Robot:
    """The robot of one Bullet client. dynamics: what its links are made of.

    default: the contact parameters that CausalWorld's code sets out to give (restitution .8, rolling and spinning friction .1,
    damping .5), the inertias of the URDF.  legacy: those it really gets: neither restitution nor rolling friction, and the
    inertias of the links' bounding boxes (reference section 14 a, b).  Friction is .5 in both, which CausalWorld really has;
    its code asks for .1, with which no finger lifts a block. It is the variable `finger_friction`.
    """

    def __init__(self, client, model: str = "edu", collision: str = "mesh", dynamics: str = "default") -> None:
        self._bullet = client
        with urdf_file(model, collision) as path:
            flags = client.URDF_USE_INERTIA_FROM_FILE | client.URDF_USE_SELF_COLLISION
            self.body = client.loadURDF(str(path), useFixedBase=1, flags=flags)
        found = [client.getJointInfo(self.body, i) for i in range(client.getNumJoints(self.body))]
        self.joints = [info[0] for info in found if info[2] == client.JOINT_REVOLUTE]
        names = {info[12].decode(): info[0] for info in found}
        self.tip_links = [names[f"finger_tip_link_{angle}"] for angle in (0, 120, 240)]
        parts = [(f"{part}_link", angle) for angle in (0, 120, 240) for part in ("base", "upper", "middle", "lower")]
        self.links = [names[f"finger_{part}_{angle}"] for part, angle in parts]  # in the order of LINKS
        client.setJointMotorControlArray(self.body, self.joints, client.VELOCITY_CONTROL, forces=[0.0] * 9)
        self._made = [client.getDynamicsInfo(self.body, link)[:3:2] for link in self.links]  # mass, inertia of the file
        self.default_masses = np.array([mass for mass, _ in self._made])
        if dynamics == "legacy" and model in _LEGACY_BOXES:
            self._made = [_boxed(made, model, i % 4) for i, made in enumerate(self._made)]
        self._keeps_inertia = dynamics == "default" or model in _LEGACY_BOXES
        client.changeDynamics(self.body, -1, linearDamping=0.5, angularDamping=0.5, maxJointVelocity=1000)  # of the whole robot
        self._touching = [*self.joints, *self.tip_links]  # links that have a shape
        for link in self._touching if dynamics == "default" else ():
            client.changeDynamics(self.body, link, spinningFriction=0.1, rollingFriction=0.1, restitution=0.8)
        self._masses = self.default_masses.copy()
        if dynamics == "legacy":
            self._masses[:] = np.nan  # every mass is set anew on the first call, and the inertias with it
            self.set_masses(self.default_masses)

    def set_friction(self, friction: float) -> None:
        """Lateral friction of all moving links."""
        for link in self._touching:
            self._bullet.changeDynamics(self.body, link, lateralFriction=friction)

    def set_masses(self, masses: np.ndarray) -> None:
        """masses (12,) kg, in the order of LINKS; inertias grow with them."""
        for index in np.flatnonzero(masses != self._masses):
            mass, (made, inertia) = float(masses[index]), self._made[index]
            more = {"localInertiaDiagonal": [i * mass / made for i in inertia]} if self._keeps_inertia else {}
            self._bullet.changeDynamics(self.body, self.links[index], mass=mass, **more)
        self._masses = np.array(masses, float)

    def set_joints(self, positions: np.ndarray, velocities: np.ndarray) -> None:
        """Both (9,): radians, radians per second."""
        pairs = [[float(q)] for q in positions], [[float(v)] for v in velocities]
        self._bullet.resetJointStatesMultiDof(self.body, self.joints, *pairs)

    def joint_state(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities, (9,) each."""
        states = self._bullet.getJointStates(self.body, self.joints)
        return np.array([s[0] for s in states]), np.array([s[1] for s in states])

    def tips(self) -> np.ndarray:
        """Finger tips, (3, 3) metres, z from the floor."""
        states = self._bullet.getLinkStates(self.body, self.tip_links, computeForwardKinematics=1)
        return np.array([s[4] for s in states]) - (0, 0, FLOOR)

    def follow(self, target: list[float]) -> list[float]:
        """One time step's torques towards joint positions (9); plain floats, since arrays of nine cost more.  -> applied (9)"""
        states = self._bullet.getJointStates(self.body, self.joints)
        wanted = [GAIN * (goal - s[0]) - d * s[1] for goal, s, d in zip(target, states, DAMPING)]
        return self._drive(wanted, states)

    def push(self, torques: list[float]) -> list[float]:
        """One time step of given torques (9), within the safety limits.  -> applied (9)"""
        return self._drive(torques, self._bullet.getJointStates(self.body, self.joints))

    def _drive(self, wanted: list[float], states) -> list[float]:
        """Cut, damp, cut again, as the real robot's firmware does."""
        most, least, applied = MAX_TORQUE, -MAX_TORQUE, []
        for torque, state, damping in zip(wanted, states, SAFETY):  # comparisons, since min and max are calls
            torque = (most if torque > most else least if torque < least else torque) - damping * state[1]
            applied.append(most if torque > most else least if torque < least else torque)
        self._bullet.setJointMotorControlArray(self.body, self.joints, self._bullet.TORQUE_CONTROL, forces=applied)
        return applied


def _boxed(made: tuple, model: str, part: int) -> tuple:
    """(mass, inertia) of a link as that of its box; part: 0 = the fixed base, whose inertia nothing asks for."""
    if part == 0:
        return made
    squares = np.square(_LEGACY_BOXES[model][part - 1])
    return made[0], tuple((made[0] / 12 * (squares.sum() - squares)).tolist())
