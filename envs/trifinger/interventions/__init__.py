"""Who changes variables, with what, and whether it is possible."""
