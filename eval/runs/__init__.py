"""Run folders: what they hold, what their config means, and how their files are read safely."""

from eval.runs.identity import config_hash, differences
from eval.runs.run import (
    AGENT,
    CLONE,
    CONFIGS,
    MODEL,
    Run,
    folders_of,
    freeze,
    is_agent,
    load_config,
    load_run,
    read_results,
    run_folders,
)

__all__ = [
    "AGENT", "CLONE", "CONFIGS", "MODEL", "Run", "config_hash", "differences", "folders_of", "freeze", "is_agent",
    "load_config", "load_run", "read_results", "run_folders",
]  # fmt: skip
