"""A run as one page: curves, table, and what the model predicts beside what happened, wrong cases first.

    python eval/report.py run=runs/modular-infonce-physics5-quick-s0
"""

from pathlib import Path


def write_report(folder):
    return Path(folder) / "report.html"
