"""Names of scores in tables of equal effort, and the metrics of the ledger behind them.

What probes call their numbers is written again: they take seconds to import, and whoever reads a table asks none.
"""

from envs.protocols import FACTORS

WEIGHTS = "order of weights"  # the name of ORDER in tables
ORDER, SHD, ASKS = "order/tau", "order/shd", "order/asks"  # of eval/probes/weight_order.py
SHOWN = {"H@1": "test/hits@1/h{}", "copy floor": "floor/copy/hits@1/h{}", "what if": "test/cf_hits@1/mean/h{}",
         "what if, copy floor": "floor/copy/cf_hits@1/mean/h{}", "what if, several": "test/cf_hits@1/several/h{}",
         "goals": "plan/success/h{}"}  # fmt: skip
CURVES = "what if", "H@1", "goals"  # what rounds of a training are asked for
READ_OUTS = "linear", "mlp"  # of eval/probes/readout.py
CHANGED = "nothing", "one", "several"  # classes of actions, of eval/probes/counterfactual.py
AT_ONCE = {  # one number of a run; {}: of a read-out
    "factors read": "readout/{}/frames",
    **{name: f"readout/{{}}/frames/{name}" for name in FACTORS},
    "true outcome": "readout/{}/eyes/h10",
    "predicted outcome": "readout/{}/exact/h10",
    "of every action": "readout/{}/what_if/h10",
    **{f"of those that change {name}": f"readout/{{}}/what_if/{name}/h10" for name in CHANGED},
    WEIGHTS: ORDER,
    "its SHD": SHD,
    "pushes told": ASKS,
    "own R2": "identifiability/own",
    **{name: f"identifiability/{name.lower()}" for name in ("MCC", "disentanglement", "completeness")},
    "smallest gap": "test/smallest_gap",
}
OF_STRUCTURE = WEIGHTS, "its SHD", "pushes told", "own R2", "MCC", "disentanglement", "completeness", "smallest gap"
DIGITS = {WEIGHTS: 2, "its SHD": 2}  # all others one
SCALE = {"smallest gap": 100.0}  # a share, in percent; all others are as they are shown
READ_FLOORS = {
    "factors read": "floor/constant/frames",
    **{name: f"floor/constant/frames/{name}" for name in FACTORS},
    "predicted outcome": "floor/copy/exact/h10",
    "of every action": "floor/copy/what_if/h10",
}
PLACES = {"all places": "what_if/place/h{}", **{f"all places, {name}": f"what_if/place/{name}/h{{}}" for name in CHANGED}}
READ_PLACES = "readout/{}/"  # how PLACES begin in the ledger, {}: of READ_OUTS
PLACES_FLOOR = "floor/copy/what_if/h{}"  # of all places: the state that was
# of the world itself where the weights are unknown, by eval/probes/without_weights.py: what if, and how PLACES begin
BLIND, BLIND_PLACES = "blind/cf_hits@1/mean/h{}", "blind/"
SAME_CHANCE = {  # of eval/probes/same_chance.py: outcomes of another action that meets the chance which was met
    "exact": "same_chance/exact",
    "exact Bayes": "ceiling/same_chance",
    "of exact Bayes": "same_chance/of_ceiling",
    "without what happened": "floor/same_chance/blind",
    "copying what happened": "floor/same_chance/copy",
    "under another coupling": "same_chance/gumbel",
}
# questions all of whose actions lead to one outcome, so that any answer is right, by eval/probes/counterfactual.py
ALONE = "floor/alone/cf_hits@1/mean/h{}"
BAYES, LIKELIEST = "bayes/hits@1/h{}", "bayes/cf_hits@1/mean/h{}"  # of eval/planning/ceilings.py, where outcomes are drawn
RANDOM = "plan/floor/random/h{}"  # the share of goals that a random policy reaches
PAINTER = "plan/floor/painter/h{}"  # and who paints the lowest wrong number, in a world where colours are set
TRUE_WORLD = "plan/true/greedy/h{}"  # what the same search reaches in the world itself
BY_NUMBER = "floor/order/tau"  # of eval/probes/weight_order.py: the order that the numbers of blocks would give
# where a world has no classes of actions
ALSO = {"what if": "test/cf_hits@1/h{}", "what if, copy floor": "floor/copy/cf_hits@1/h{}"}
FLOORS = {"H@1": "copy floor", "what if": "what if, copy floor"}
