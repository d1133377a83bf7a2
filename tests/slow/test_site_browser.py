"""A real browser sorts the tables of a page."""

import pytest

from eval.pages.frame import SCRIPT
from eval.pages.html import page, table

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("cells, best, least", [
    (["9.5 (3.1)", "- (-)", "10.5 (2.0)", "1,000 ± 3"],
     ["1,000 ± 3", "10.5 (2.0)", "9.5 (3.1)", "- (-)"],
     ["9.5 (3.1)", "10.5 (2.0)", "1,000 ± 3", "- (-)"]),
    (["-3.0", "-", "2.0"], ["2.0", "-3.0", "-"], ["-3.0", "2.0", "-"]),
    (["edge", "ae", "gnn"], ["ae", "edge", "gnn"], ["gnn", "edge", "ae"]),
    (["H@1 10", "H@1 5", "goals 1"], ["goals 1", "H@1 5", "H@1 10"], ["H@1 10", "H@1 5", "goals 1"]),
])  # fmt: skip
def test_a_head_sorts_its_column(chromium, tmp_path, cells, best, least):
    """One cell without both numbers, `- (-)`, made words of a whole column: 9.5 stood above 10.5."""
    (tmp_path / "page.html").write_text(
        page(
            "Sorted",
            f"<article>{table(['row', 'score'], [[f'row {i}', cell] for i, cell in enumerate(cells)])}</article>",
            head=SCRIPT,
        )
    )
    shown = chromium.new_page()
    shown.goto(f"file://{tmp_path}/page.html")
    for press, expected in ((lambda head: head.click(), best), (lambda head: head.press(" "), least)):
        press(head := shown.locator("th >> nth=1"))
        rises = head.get_attribute("aria-sort") == "ascending"
        assert rises == (cells[0][0].isalpha() == (expected is best)), "the arrow says which way"
        assert shown.locator("tr td:nth-child(2)").all_inner_texts() == expected
    shown.close()
