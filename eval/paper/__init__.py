"""The paper's tables, figures and claims, filled with our runs."""
