"""Active path audit: send probes that the switches themselves answer, and say which cables really carry traffic.

`flights` chooses who probes whom so that every fabric cable is crossed in both directions; `coverage` says how many
source ports that takes; `prober` runs on a host (standard library only); `judge` turns answers into findings.
"""
