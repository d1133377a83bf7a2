"""Rows of what eval/plan.py adds to the results of a run: how often planning with its model reaches a goal."""

from envs.protocols import Goals
from eval.probes.probe import Probe, Row

SUCCESS = "plan/success/"
ROWS = (
    Row(SUCCESS, "RL success: goals reached, greedy planning", short="success", horizons=("last",)),
    Row("plan/true/greedy/", "greedy, true world and distance", "comparison", SUCCESS),
    Row("plan/floor/painter/", "paint the lowest wrong number", "floor", SUCCESS, short="painting by number"),
    Row("plan/floor/random/", "random actions", "floor", SUCCESS),
    Row("plan/floor/noop/", "doing nothing", "floor", SUCCESS),
)
success = Probe("success", __name__, (Goals,), ROWS, None, lambda run: None)
