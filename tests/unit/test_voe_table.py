"""Table 4 of violated expectations: the published cells, and Welch's t between any two."""

import math

import pytest

from eval.paper.voe_table import Cell, difference, published

T = {"voe_support": 4.2, "voe_occlusion": 7.8, "voe_containment": 1.7, "voe_collision": 3.1, "voe_barrier": 0.9}


def test_means_of_the_published_rows():
    means = {model: sum(cell.mean for cell in row.values()) / 5 for model, row in published().items()}
    assert means == {"OFPR-Net": pytest.approx(0.743, abs=6e-4), "OF-Net": pytest.approx(0.697, abs=6e-4)}


@pytest.mark.parametrize("env, t", T.items())
def test_welchs_t_between_the_published_rows(env, t):
    """From the rounded cells: a tenth beside the t of the unrounded ones at most."""
    table = published()
    found = difference(table["OFPR-Net"][env], table["OF-Net"][env])
    assert found.t == pytest.approx(t, abs=0.1) and (found.p < 0.05) == (t > 2.2)


def test_one_seed_has_no_spread():
    one = Cell.of([0.8])
    assert str(one) == "0.800" and math.isnan(difference(one, Cell.of([0.5, 0.7])).t)
    assert str(Cell.of([0.5, 0.7])) == "0.600 +- 0.141"
