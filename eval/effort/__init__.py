"""Tables of equal effort: every row draws as many settings, trains for as many minutes, and is read from the ledger alone."""
