"""A NAPALM driver for SONiC over our own parsers, differences and push. `get_network_driver("sonic")` finds it through
the one-line module `napalm_sonic`, which the wheel installs from `napalm_sonic.py` in this folder.
"""
