"""Questions to a fabric that is not (only) there: synthetic snapshots, failures, ECMP load on the graph."""
