"""A run's scores as a table, for the terminal and the report: every score with its ceiling and floors, and the caption."""

from eval.terminal import print_table


def table_rows(results: dict) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a run's table, shared by the terminal and the report."""
    m, horizons = results["metrics"], [key for key in results["protocol"]["distinct"]]
    lines = [
        ("H@1", "test/hits@1/"), ("  ceiling: exact Bayes", "bayes/hits@1/"), ("  true model, one-hot", "one_hot/hits@1/"),
        ("  floor: copy the frame, paint the acted objects", "floor/paint/hits@1/"),
        ("  floor: copy the start", "floor/copy/hits@1/"), ("  floor: constant", "floor/constant/hits@1/"),
        ("MRR", "test/mrr/"), ("  ceiling: exact Bayes", "bayes/mrr/"), ("  true model, one-hot", "one_hot/mrr/"),
        ("RL success: goals reached, greedy planning", "plan/success/"),
        ("  comparison: greedy, true world and distance", "plan/true/greedy/"),
        ("  floor: paint the lowest wrong number", "plan/floor/painter/"),
        ("  floor: random actions", "plan/floor/random/"), ("  floor: doing nothing", "plan/floor/noop/"),
        ("H@1 on the same board", "test/board_hits@1/"), ("  ceiling: exact Bayes", "bayes/board_hits@1/"),
        ("  true model, one-hot", "one_hot/board_hits@1/"),
        ("  floor: paint", "floor/paint/board_hits@1/"),
        ("objects in the right colour", "test/accuracy/"), ("  ceiling: exact Bayes", "bayes/accuracy/"),
        ("  true model, one-hot", "one_hot/accuracy/"),
        ("  floor: paint", "floor/paint/accuracy/"),
        ("H@1 where weights decided", "test/hits@1/contact/"), ("H@1 where a block is pushed", "test/hits@1/push/"),
        ("counterfactual H@1", "test/cf_hits@1/"),
        ("  floor: copy the start", "floor/copy/cf_hits@1/"), ("counterfactual MRR", "test/cf_mrr/"),
        ("reconstruction (nats)", "test/reconstruction/"),
        ("authors' rule H@1 (ties win)", "test/reference/hits@1/"), ("authors' rule MRR", "test/reference/mrr/"),
        ("comparison: success of replaying the actions", "ceiling/success/replay/"),
        ("comparison: success of greedy, true model", "ceiling/success/greedy/"),
        ("floor: success of painting the lowest wrong number", "ceiling/success/painter/"),
        ("floor: success of doing nothing", "ceiling/success/noop/"),
        ("floor: success of random actions", "ceiling/success/random/"),
    ]  # fmt: skip
    rows = [
        [label, *(f"{m[key + h]:.2f}" if key + h in m else "" for h in horizons)]
        for label, key in lines
        if any(key + h in m for h in horizons)
    ]
    blank = [""] * (len(horizons) - 1)
    if "test/smallest_gap" in m:
        rows.append(["smallest gap of one object, % of a random pair", f"{100 * m['test/smallest_gap']:.2f}", *blank])
    if "test/weakest_slot" in m:
        rows.append(["weakest slot, % of the widest", f"{m['test/weakest_slot']:.0f}", *blank])
    return ["", *(f"{h[1:]} step{'s' if h != 'h1' else ''}" for h in horizons)], rows


def caption(results: dict) -> str:
    """The protocol in one line: a number without it means nothing."""
    p = results["protocol"]
    distinct = ", ".join(f"{h[1:]}: {n}" for h, n in p["distinct"].items())
    epochs = f" ({'+'.join(map(str, p['epochs']))} epochs)" if p.get("epochs") else ""
    shown = ", state input" if p.get("observation") == "state" else ""
    plan = results.get("plan") or {}
    goals = f"; success on {plan['episodes']} fresh episodes, reward {plan['reward']}" if {"episodes", "reward"} <= plan.keys() else ""
    return (
        f"{results['model']} + {results['loss']} on {results['env']} ({p['split']}{shown}), budget {p['budget']}{epochs}, "
        f"seed {results['seed']}, pool {p['pool']} (distinct outcomes {distinct}), "
        f"rule grouped, ties against us, {p.get('counterfactual_states', 0)} counterfactual states{goals}; percent"
    )


def print_scores(results: dict) -> None:
    """The table on the terminal."""
    header, rows = table_rows(results)
    print_table(header, rows, caption(results))
    print("  ".join(f"{name} {value}" for name, value in results["timing"].items()))
