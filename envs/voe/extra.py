"""Says in VoE's words which package of its extra is missing: imported before `envs/bodies`, which serves other worlds too."""

import importlib.util

from envs.problem import lacking

for _package in ("pybullet", "fast_simplification"):
    if importlib.util.find_spec(_package) is None:
        raise lacking(_package, "VoE", "voe")
