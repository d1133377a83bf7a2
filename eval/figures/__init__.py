"""Drawing: charts and curves."""
