"""The report of a run and the site over all runs."""
