"""Nornir plugins: inventory from the Plan, connections over our transports, tasks, processors, a bounded runner.

Thin: each adapts what another room does. The entry points in pyproject.toml let a stranger's `InitNornir` find them
(`inventory/config.yaml`); our own commands build `Nornir(inventory, runner)` directly, because loading every
installed plugin costs most of a second.
"""
