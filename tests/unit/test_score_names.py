"""Names of metrics that tables of equal effort read are those of the probes that measure them."""

from eval.effort import score_names as names
from eval.probes import counterfactual, every_row, readout, weight_order, without_weights


def test_names_of_probes_are_theirs():
    """Written again where a table is read, since probes take seconds to import; a share is shown in percent."""
    assert names.READ_OUTS == readout.KINDS and names.CHANGED == counterfactual.CHANGED and names.ORDER == weight_order.TAU
    assert (
        names.BLIND == f"{without_weights.RANKED}/mean/h{{}}"
        and names.BLIND_PLACES + names.PLACES["all places"] == f"{without_weights.BOARD}/h{{}}"
    )
    compared = names.BAYES, names.LIKELIEST, names.TRUE_WORLD
    assert {name.removesuffix("h{}") for name in compared} <= {row.key for row in every_row()}
    scales = {row.key.rstrip("/"): row.scale for row in every_row()}
    asked_of = {name: key.format("mlp").removesuffix("/h10") for name, key in names.AT_ONCE.items()}
    assert {name: scales[key] for name, key in asked_of.items() if scales.get(key, 1.0) != 1.0} == names.SCALE
    shown = {row.key.rstrip("/") for one in (readout.readout, weight_order.weight_order) for row in one.rows}
    of_places = [names.READ_PLACES + key.removesuffix("/h{}") for key in names.PLACES.values()]
    asked = {
        key.format("mlp").removesuffix("/h10") for key in (*names.AT_ONCE.values(), *names.READ_FLOORS.values(), *of_places)
    }
    known = {key for key in asked if key.startswith(("readout/", "order/"))}
    assert known <= shown, f"no probe has {sorted(known - shown)}"
