"""Sentences that rows are held against: what Ke et al. say (arXiv 2107.00848), and what is said of world models today."""

from typing import NamedTuple


class Sentence(NamedTuple):
    """Some rows are better than another one in a score.  section: of the paper; empty: said elsewhere."""

    claim: str
    section: str
    score: str
    better: tuple[str, ...]
    worse: str


PAPER = AE, GNN, MODULAR = tuple(f"{name} + hinge, small encoder" for name in ("AE", "GNN", "modular"))  # its rows
OF_BOARDS = (
    Sentence("models with structure beat the monolithic one under the hinge loss", "4.1", "H@1", (GNN, MODULAR), AE),
    Sentence("models with structure reach more goals than the monolithic one under the hinge loss", "4.1", "goals",
             (GNN, MODULAR), AE),
    Sentence("models with structure know more than the monolithic one under the hinge loss, asked what if (ours to ask)",
             "4.1", "what if", (GNN, MODULAR), AE),
    Sentence("models with structure beat the monolithic one, asked what if (ours to ask)", "4.1", "what if",
             ("GNN + InfoNCE", "modular + InfoNCE", "edge + InfoNCE"), "AE + InfoNCE"),
)  # fmt: skip
OF_DRAWN_WORLDS = (  # of chemistry the paper says it of modular alone
    Sentence("the modular model beats the monolithic one under the hinge loss", "4.2", "H@1", (MODULAR,), AE),
    Sentence("the modular model reaches more goals than the monolithic one under the hinge loss", "4.2", "goals",
             (MODULAR,), AE),
    Sentence("the modular model knows more than the monolithic one under the hinge loss, asked what if (ours to ask)",
             "4.2", "what if", (MODULAR,), AE),
    Sentence("the modular model beats the monolithic one, asked what if (ours to ask)", "4.2", "what if",
             ("modular + InfoNCE",), "AE + InfoNCE"),
)  # fmt: skip
OF_ALL_WORLDS = (
    Sentence("with structure the contrastive loss ranks better than likelihood", "4.4", "H@1", ("edge + hinge",), "edge + NLL"),
    Sentence("with structure the contrastive loss knows more than likelihood, asked what if (ours to ask)", "4.4", "what if",
             ("edge + hinge",), "edge + NLL"),
    Sentence("negatives of the same episode help the hinge (after Biza et al. 2021)", "", "H@1",
             ("edge + hinge, same episode",), "edge + hinge"),
    Sentence("negatives of the same episode help the hinge, asked what if (ours to ask)", "", "what if",
             ("edge + hinge, same episode",), "edge + hinge"),
    Sentence("hiding objects helps, asked what if (C-JEPA)", "", "what if",
             ("transformer + InfoNCE, hidden objects",), "transformer + InfoNCE"),
)  # fmt: skip
CORRELATED = (("H@1", "goals", "4.3"), ("what if", "goals", "4.3"), ("H@1", "what if", "ours"))  # scores, and who says it
NOT_ASKED = {  # sentence of the paper -> why no row of equal effort is held against it
    "modular models scale best from 3 to 5 objects, and GNN falls (4.1)": "the worlds of this table have five",
    "on shades never trained, structure beats the monolithic model (4.1)": "none of the rows of the paper was asked there",
    "the collider is the easiest graph (4.2)": "one graph was asked",
    "with GNN and modular, too, the contrastive loss ranks better than likelihood (4.4)": "likelihood was trained with edge",
}


def sentences(drawn_worlds: bool, rows: set[str]) -> list[Sentence]:
    """Those on pairs of some rows.  drawn_worlds: whether every seed is a world of its own, as in chemistry."""
    every = (*(OF_DRAWN_WORLDS if drawn_worlds else OF_BOARDS), *OF_ALL_WORLDS)
    return [one for one in every if {*one.better, one.worse} <= rows]
