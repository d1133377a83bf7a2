"""Where a score becomes an edge. The cuts are those of our first tables, set on worlds 0 to 4 (scm_seed) in causal numbering.

They are kept as they are and reported on worlds 10 to 14. What needs no cut is AUROC, which stands first in every table.
"""

MOVES = 0.01  # reach: share of its movement under a command on itself by which an object must move to count
FAINT = 0.02  # the same share, of the true model: a path below it is faint
SEEN = 0.05  # share of commands on an object after which another one has another code; paths show .18 or more, others none
NEEDED = 0.01  # direct edges: nats that held-out likelihood loses without the parent; non-edges lose less than .001
VACUOUS = 0.02  # nats by which the true tables need a parent, below which its edge is called vacuous
LEARNED = 0.5  # probability of a learned edge
