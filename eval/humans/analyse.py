"""Analyses the exports of a study: who is accepted, hit rate, accuracy, agreement of pairs, tables and figures.

    python -m eval.humans analyse runs/study

Writes <study>/analysis/analysis.json, ratings.csv (one line for each answer), kappa.csv (one for each pair and category),
kappa.svg and kappa-map.svg, both also as .png. A row of the models' table: python eval/tables.py table=voe
humans=<study>/analysis/analysis.json.
"""

import argparse
import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from envs.problem import Problem
from envs.voe.clip import CATEGORIES, SUBTYPES
from envs.whole_files import write_whole
from eval.figures.charts import write_chart
from eval.figures.kappa_plots import kappa_histograms, kappa_maps
from eval.humans.analysis import Agreement, Rated, ratings_of_versions, scores
from eval.humans.answers import Export, read_exports
from eval.humans.study import SCHEMA, Study
from eval.probes.pair_scores import hit_rate
from eval.terminal import print_table

FOLDER = "analysis"
COLUMNS = (
    "participant", "accepted", "list", "position", "category", "subtype", "trial", "version", "clip", "kind", "repeat_of",
    "rating", "rt_ms", "plays",
)  # fmt: skip


def analyse(study: Study, exports: Sequence[Export]) -> tuple[dict, dict[str, Agreement]]:
    """What analysis.json holds, and the agreement of pairs for each category.  Raises Problem where nobody was accepted."""
    rated = Rated.of(study, exports)
    if not rated.people:
        raise Problem(f"no participant of {study.folder} was accepted, {len(exports)} finished; an analysis needs one")
    agreements = {category: Agreement.of(rated.of_kind(category)) for category in CATEGORIES.values()}
    accepted = [export for export in exports if export.decision.accepted]
    found = {
        "schema": SCHEMA, "study": study.id, "manifest": study.manifest, "finished": len(exports), "accepted": len(accepted),
        "rejected": _rejected(exports), "demographics": _demographics(accepted),
        "ratings_of_a_version": {str(count): clips for count, clips in sorted(ratings_of_versions(rated).items())},
        "categories": {}, "all": _of_kind(rated, Agreement.of(rated)),
    }  # fmt: skip
    for letter, category in CATEGORIES.items():
        of_category = _of_kind(rated.of_kind(category), agreements[category])
        of_category["metrics"] |= _of_subtypes(rated, letter)
        found["categories"][category] = {"letter": letter} | of_category
    return found, agreements


def _of_kind(rated: Rated, agreement: Agreement) -> dict:
    """Numbers under the names that models have."""
    found = scores(rated)
    names = [name for name in ("hit_rate", "accuracy", "auc") if name in found]
    ends = {f"voe/{name}": found[f"{name}_interval"] for name in names}
    return {
        "trials": found["trials"], "metrics": {f"voe/{name}": round(found[name], 4) for name in names},
        "intervals": {name: [round(end, 4) for end in of] for name, of in ends.items() if of}, "kappa": agreement.summary(),
    }  # fmt: skip


def _of_subtypes(rated: Rated, letter: str) -> dict[str, float]:
    """Hit rates of sub-types that have trials."""
    found = {}
    for name in (name for name in SUBTYPES if name[0] == letter):
        expected, surprising = rated.of_kind(name).means()
        if len(expected):
            found[f"voe/hit_rate/{name}"] = round(hit_rate(expected, surprising), 4)
    return found


def _rejected(exports: Iterable[Export]) -> dict[str, int]:
    """How many missed which criterion."""
    missed = Counter(export.decision.missed for export in exports)
    return {"consistency": missed["consistency",], "checks": missed["checks",], "both": missed["consistency", "checks"]}


def _demographics(exports: Sequence[Export]) -> dict:
    """Of the accepted together, no single one."""
    ages = [export.demographics.age for export in exports]
    genders = Counter(export.demographics.gender for export in exports)
    return {"age": [min(ages), max(ages)], "gender": dict(sorted(genders.items()))}


def ratings_csv(study: Study, exports: Sequence[Export]) -> str:
    """One line for each answer, also of the rejected, of repeats and checks. Demographics stay in the exports."""
    lines: list[Sequence] = [COLUMNS]
    for export in exports:
        of_person = export.participant, int(export.decision.accepted), export.list
        for one in export.responses:
            clip = study.clips[one.clip]
            shown = one.position, clip.category, clip.subtype, clip.trial, clip.version, one.clip, one.kind, one.repeat_of
            lines.append((*of_person, *shown, one.rating, one.rt_ms, one.plays))
    return _csv(lines)


def kappa_csv(rated: Rated, agreements: dict[str, Agreement]) -> str:
    """One line for each category and pair; an undefined kappa is empty."""
    lines = [("category", "participant", "other", "common", "kappa")]
    for category, agreement in agreements.items():
        for (one, other), common, value in zip(agreement.pairs, agreement.common, agreement.values):
            told = "" if np.isnan(value) else round(float(value), 4)
            lines.append((category, rated.people[one], rated.people[other], common, told))
    return _csv(lines)


def _csv(lines: Iterable[Sequence]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def print_analysis(found: dict) -> None:
    """The table on the terminal."""
    rows = []
    for name, of in {**found["categories"], "all": found["all"]}.items():
        shown = [_with_interval(of, f"voe/{score}") for score in ("hit_rate", "accuracy", "auc")]
        kappa = of["kappa"]
        low, middle, high = kappa["quartiles"]
        agreed = f"{middle:.2f} ({low:.2f}-{high:.2f})" if middle is not None else "none"
        rows.append([f"{of['letter']} {name}" if "letter" in of else name, *shown, agreed, str(kappa["pairs"]),
                     f"{kappa['no_common_clip']} + {kappa['all_on_one_side']}"])  # fmt: skip
    counts = list(found["ratings_of_a_version"])
    each = counts[0] if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    missed = ", ".join(f"{people} for {what}" for what, people in found["rejected"].items())
    told = (f"{found['accepted']} of {found['finished']} participants accepted (rejected: {missed}); "
            f"{each} ratings of a version; hit rate of mean ratings, over trials; "
            f"accuracy and AUC of one participant, over participants; 95 % intervals; "
            f"no kappa: pairs without a common clip + pairs whose clips all lie on one side")  # fmt: skip
    print_table(["", "hit rate", "accuracy", "AUC", "kappa, median (quartiles)", "pairs", "no kappa"], rows, told)


def _with_interval(of: dict, key: str) -> str:
    ends = "-".join(f"{end:.2f}" for end in of["intervals"].get(key, ()))
    return f"{of['metrics'][key]:.3f}{f' ({ends})' * bool(ends)}" if key in of["metrics"] else "none"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("study", help="folder of the study")


def run(args: argparse.Namespace) -> None:
    """The command."""
    study = Study.open(args.study)
    exports = read_exports(study)
    found, agreements = analyse(study, exports)
    out, rated = Path(args.study) / FOLDER, Rated.of(study, exports)
    out.mkdir(exist_ok=True)
    write_whole(out / "ratings.csv", ratings_csv(study, exports))
    write_whole(out / "kappa.csv", kappa_csv(rated, agreements))
    values = {f"{letter} {category}": agreements[category].values for letter, category in CATEGORIES.items()}
    write_chart(kappa_histograms(values), out / "kappa")
    write_chart(kappa_maps(len(rated.people), agreements["support"].pairs, values), out / "kappa-map")
    write_whole(out / "analysis.json", json.dumps(found, indent=1) + "\n")  # last: with it the folder is complete
    print_analysis(found)
    print(f"{out}: analysis.json, ratings.csv, kappa.csv, kappa.svg, kappa-map.svg")
