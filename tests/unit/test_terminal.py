"""What a command shows is what was asked to be shown."""

from eval.terminal import print_table


def test_brackets_in_names_are_shown(capsys):
    """They were taken for markup: `edge [small]` and `edge [large]` were both called edge, and `[/x]` ended in a traceback."""
    print_table(["row [a]"], [["edge [small]"], ["edge [/x]"]], "", title="ledger [b]")
    printed = capsys.readouterr().out
    for text in ("row [a]", "edge [small]", "edge [/x]", "ledger [b]"):
        assert text in printed
