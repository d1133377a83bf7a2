"""Interventions on variables: who makes them, to which values, and whether they are possible."""
