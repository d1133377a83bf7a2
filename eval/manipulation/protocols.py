"""The protocols: which variables of a task are drawn, and from which space (CausalWorld, reference section 11).

A protocol names roles, a task says which of its variables play them; one whose roles a task does not have is not asked of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from envs.problem import Problem, nearest


@dataclass(frozen=True)
class Protocol:
    """roles: of variables; "all" = every variable but the joints.  caption: what it draws anew."""

    roles: tuple[str, ...]
    space: str
    caption: str


PROTOCOLS = {
    "P0": Protocol((), "a", "nothing"),
    "P1": Protocol(("mass",), "a", "block mass A"),
    "P2": Protocol(("mass",), "b", "block mass B"),
    "P3": Protocol(("size",), "a", "block size A"),
    "P4": Protocol(("place",), "a", "block position A"),
    "P5": Protocol(("goal",), "a", "goal position A"),
    "P6": Protocol(("place", "goal"), "b", "block and goal position B"),
    "P7": Protocol(("place", "mass", "goal"), "a", "block position, mass, goal position A"),
    "P8": Protocol(("place", "mass", "goal"), "b", "block position, mass, goal position B"),
    "P9": Protocol(("place", "mass", "goal", "floor_friction"), "b", "as P8, and floor friction B"),
    "P10": Protocol(("all",), "a", "all variables A"),
    "P11": Protocol(("all",), "b", "all variables B"),
    "P12": Protocol(("tips",), "b", "position of the tips B"),  # of reaching alone, as in CausalWorld's code
}
_ONE_BLOCK = {
    "mass": ("tool_block/mass",), "size": ("tool_block/size",), "place": ("tool_block/cylindrical_position",),
    "goal": ("goal_block/cylindrical_position",), "floor_friction": ("floor_friction",),
}  # fmt: skip
_TIPS = tuple(f"goal_{finger}/cylindrical_position" for finger in (60, 120, 300))
_BUILT = {"mass": ("blocks_mass",), "floor_friction": ("floor_friction",)}
ROLES = {  # task -> role -> variables. CausalWorld has no protocols for the last four; theirs are ours.
    "reaching": {"goal": _TIPS, "tips": _TIPS},
    "pushing": _ONE_BLOCK,
    "picking": _ONE_BLOCK,
    "pick_and_place": _ONE_BLOCK,
    "stacking2": {
        "mass": ("tool_block_1/mass", "tool_block_2/mass"),
        "place": ("tool_block_1/cylindrical_position", "tool_block_2/cylindrical_position"),
        "goal": ("goal_tower/cylindrical_position",), "floor_friction": ("floor_friction",),
    },
    "towers": {**_BUILT, "size": ("tower_dims",), "goal": ("number_of_blocks_in_tower", "tower_center")},
    "stacked_blocks": {**_BUILT, "size": ("blocks_min_size",), "goal": ("stack_levels", "max_level_width")},
    "creative_stacked_blocks": {**_BUILT, "size": ("blocks_min_size",), "goal": ("stack_levels", "max_level_width")},
    "general": {**_BUILT, "size": ("tool_block_size",), "goal": ("nums_objects",)},
}  # fmt: skip


def arena(cfg: Mapping) -> dict:
    """Where an agent acts: agents that differ in one of these did not do the same."""
    return {key: cfg[key] for key in ("skip_frame", "max_steps", "dynamics", "feasibility", "collision")}


def measured_in(cfg: Mapping) -> dict:
    """Where an agent acts and how it is scored: numbers that differ in one of these do not compare."""
    masses = {"mass_spread": cfg["mass_spread"]} if "mass" in ROLES[cfg["task"]] else {}
    return arena(cfg) | {"overlap": cfg["overlap"]} | masses


def made_with(cfg: Mapping) -> dict:
    """Options of `envs.trifinger.make` that a config holds, in training as in measuring."""
    return {**arena(cfg), "score": cfg["overlap"]}


def actor(protocol: str, task: str):
    """Who intervenes at the start of an episode of this protocol, an `Actor` of envs/trifinger/interventions; None = nobody."""
    from envs.trifinger.interventions.actors import RandomActor, VariablesActor  # needs the extra, which --help does not

    asked = PROTOCOLS[protocol]
    if not asked.roles:
        return None
    if asked.roles == ("all",):
        return RandomActor(asked.space)
    return VariablesActor([path for role in asked.roles for path in ROLES[task][role]], asked.space)


def keeps_length(task: str, protocol: str) -> bool:
    """Whether observations have the same length in all its episodes: agents of one network can be asked nothing else."""
    from envs.trifinger.tasks import TASKS

    roles = PROTOCOLS[protocol].roles
    paths = {path for role in roles if role != "all" for path in ROLES[task].get(role, ())}
    builds = set(TASKS[task].family) - {"blocks_mass"}
    return not builds or not ("all" in roles or paths & builds)


def protocols_for_agent(task: str, names: list[str] | None = None) -> list[str]:
    """Those of a task that an agent of one network can play; a Problem where another is named."""
    asked = protocols_of(task, names)
    can = [name for name in asked if keeps_length(task, name)]
    if names is not None and can != asked:
        other = next(name for name in asked if name not in can)
        raise Problem(f"{other} changes the number of blocks of {task}, an agent sees always as many; leave it out")
    return can


def protocols_of(task: str, names: list[str] | None = None) -> list[str]:
    """The protocols that a task has, or those named; a Problem where it lacks one that is named, or is none itself."""
    if task not in ROLES:
        raise Problem(f"there is no task '{task}': {nearest(str(task), ROLES)}")
    has = [name for name, p in PROTOCOLS.items() if set(p.roles) <= {"all"} or set(p.roles) <= ROLES[task].keys()]
    if names is not None and (isinstance(names, str) or not names):
        raise Problem(f"protocols must be a list of names, for example [P0,P5], or null for all; got {names!r}")
    for name in names or ():
        if name not in PROTOCOLS:
            raise Problem(f"there is no protocol '{name}': {nearest(str(name), PROTOCOLS)}")
        if name not in has:
            raise Problem(f"{task} has no protocol {name} ({PROTOCOLS[name].caption}); it has {', '.join(has)}")
    return [name for name in has if names is None or name in names]
