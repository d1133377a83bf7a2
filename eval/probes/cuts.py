"""Where a score becomes an edge. Worlds 0 to 4 (scm_seed) are kept for choosing the cuts, worlds 10 to 14 are reported.

`benchmarks/cuts.py` prints the gap between edges and no edges on the former: MOVES lies between .0001 and .21, NEEDED between
.0013 and .020. What needs no cut is AUROC, which stands first in every table.
"""

MOVES = 0.01  # reach: share of its movement under a command on itself by which an object must move to count
FAINT = 0.02  # the same share, of the true model: a path below it is faint
SEEN = 0.05  # share of commands on an object after which another one has another code; paths show .18 or more, others none
NEEDED = 0.01  # direct edges: nats that held-out likelihood loses without the parent; non-edges lose less than .001
VACUOUS = 0.02  # nats by which the true tables need a parent, below which its edge is called vacuous
LEARNED = 0.5  # probability of a learned edge
