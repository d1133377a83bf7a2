"""The tasks by name."""

from envs.problem import Problem, nearest
from envs.trifinger.tasks.general import General
from envs.trifinger.tasks.pick_and_place import PickAndPlace
from envs.trifinger.tasks.picking import Picking
from envs.trifinger.tasks.pushing import Pushing
from envs.trifinger.tasks.reaching import Reaching
from envs.trifinger.tasks.stacked_blocks import CreativeStackedBlocks, StackedBlocks
from envs.trifinger.tasks.stacking2 import Stacking2
from envs.trifinger.tasks.task import Task
from envs.trifinger.tasks.towers import Towers

_ALL = (Reaching, Pushing, Picking, PickAndPlace, Stacking2, Towers, StackedBlocks, CreativeStackedBlocks, General)
TASKS: dict[str, type[Task]] = {task.name: task for task in _ALL}


def make_task(task: str | Task, **parameters) -> Task:
    """A task by its name, or the user's own as it is."""
    if isinstance(task, Task):
        if parameters:
            raise Problem(
                f"parameters belong to tasks by name; give them to {type(task).__name__} itself: {', '.join(parameters)}"
            )
        return task
    if task not in TASKS:
        raise Problem(f"there is no task '{task}': {nearest(str(task), TASKS)}")
    try:
        return TASKS[task](**parameters)
    except TypeError as error:
        raise Problem(f"the task '{task}' cannot be made: {error}") from error
