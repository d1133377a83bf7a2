"""A run's scores as a table, for the terminal and the report: every score with its ceiling and floors, and the caption."""

from collections.abc import Iterator

from eval.probes import every_row
from eval.probes.probe import Row
from eval.terminal import print_table

BOUNDS = ("ceiling", "comparison", "floor")


def rows_of(results: dict) -> list[Row]:
    """Rows of all probes; one that stands for every event, or cause, once for each of these results."""
    events = [event for seen in results["protocol"].get("events", {}).values() for event in seen]
    causes = results["protocol"].get("causes", ())
    found = {}
    for row in every_row():
        meant = [row.of_event(event) for event in events] if "{event}" in row.key else [row]
        meant = [one.of_cause(cause) for one in meant for cause in causes] if "{cause}" in row.key else meant
        found |= {one.key: one for one in meant}
    return list(found.values())


def _lines(rows: list[Row]) -> Iterator[tuple[str, Row]]:
    """Labels in the order of the table: every score with what bounds it, bounds of no score, health."""
    for score in (row for row in rows if row.kind == "score"):
        yield score.label, score
        for kind in BOUNDS:
            yield from ((f"  {kind}: {row.label}", row) for row in rows if row.kind == kind and row.of == score.key)
    yield from ((f"{row.kind}: {row.label}", row) for row in rows if row.kind in BOUNDS and not row.of)
    yield from ((row.label, row) for row in rows if row.kind == "health")


def table_rows(results: dict) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a run's table, shared by the terminal and the report."""
    m, horizons = results["metrics"], list(results["protocol"]["distinct"])
    table = []
    for label, row in _lines(rows_of(results)):
        keys = [row.key + h for h in horizons] if row.key.endswith("/") else [row.key, *[""] * (len(horizons) - 1)]
        if any(key in m for key in keys):
            table.append([label, *(f"{row.scale * m[key]:.{row.digits}f}" if key in m else "" for key in keys)])
    return ["", *(f"{h[1:]} step{'s' if h != 'h1' else ''}" for h in horizons)], table


def caption(results: dict) -> str:
    """The protocol in one line: a number without it means nothing."""
    p = results["protocol"]
    distinct = ", ".join(f"{h[1:]}: {n}" for h, n in p["distinct"].items())
    epochs = f" ({'+'.join(map(str, p['epochs']))} epochs)" if p.get("epochs") else ""
    shown = ", state input" if p.get("observation") == "state" else ""
    plan = results.get("plan") or {}
    short = f", {p['too_short']} shorter episodes left out" if p.get("too_short") else ""
    planned = {"episodes", "reward"} <= plan.keys()
    goals = f"; success on {plan['episodes']} fresh episodes, reward {plan['reward']}" if planned else ""
    units = dict.fromkeys(["percent", *(row.unit for row in rows_of(results) if row.unit and row.key in results["metrics"])])
    return (
        f"{results['model']} + {results['loss']} on {results['env']} ({p['split']}{shown}), budget {p['budget']}{epochs}, "
        f"seed {results['seed']}, pool {p['pool']}{short} (distinct outcomes {distinct}), "
        f"rule grouped, ties against us, {p.get('counterfactual_states', 0)} counterfactual states{goals}; {', '.join(units)}"
    )


def print_scores(results: dict) -> None:
    """The table on the terminal."""
    header, rows = table_rows(results)
    print_table(header, rows, caption(results))
    print("  ".join(f"{name} {value}" for name, value in results["timing"].items()))
