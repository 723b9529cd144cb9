"""What SONiC's daemons do on a switch, for all switches of a twin in one process.

It knows CONFIG_DB, netlink, FPM, lldpd and FRR, and nothing of what the fabric should be: no intent, no Plan.
"""
