"""What differs between SONiC releases for the files we render.

Read in sonic-buildimage's release branches: dockers/docker-fpm-frr/{docker_init.sh,frr/zebra/zebra.conf.j2,
frr/bgpd/bgpd.main.conf.j2,frr/supervisord}, files/image_config/constants, src/sonic-yang-models.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.errors import RenderError


@dataclass(frozen=True, slots=True)
class Release:
    """One SONiC release. `order` compares releases; master is the newest.

    `kernel_nexthops_off`: docker_init appends `no zebra nexthop kernel enable` (up to 202505).
    `fpm_lines`: it appends the two fpm lines (202405 on: zebra runs the dplane fpm module).
    `suppress_fib`: zebra runs with --asic-offload, so `bgp suppress-fib-pending` waits for the ASIC.
    `bgpcfgd_paths`: maximum-paths of constants.yml, which CONFIG_DB cannot change.
    `frr_paths`: next hops FRR was built for.
    """

    name: str
    order: int
    frr: str
    kernel_nexthops_off: bool
    fpm_lines: bool
    nexthop_group_keep: bool
    suppress_fib: bool
    router_id_field: bool
    wcmp_field: bool
    bgpcfgd_paths: int
    frr_paths: int


_RELEASES = {
    release.name: release
    for release in (
        Release("202311", 202311, "8.5.1", True, False, False, False, False, False, 64, 64),
        Release("202405", 202405, "8.5.4", True, True, False, False, True, False, 64, 64),
        Release("202411", 202411, "10.0.1", True, True, False, True, True, True, 514, 514),
        Release("202505", 202505, "10.3", True, True, True, True, True, True, 514, 514),
        Release("202511", 202511, "10.4.1", False, True, True, True, True, True, 514, 514),
        Release("202605", 202605, "10.5.4", False, True, True, True, True, True, 514, 514),
        Release("master", 999999, "10.5.4", False, True, True, True, True, True, 514, 514),
    )
}
RELEASES = tuple(_RELEASES)


def release(name: str) -> Release:
    """The release called `name`; RenderError for one whose differences nobody has looked up."""
    try:
        return _RELEASES[name]
    except KeyError:
        raise RenderError(
            f"SONiC release {name!r} is not known; set `release` in the intent to one of {', '.join(RELEASES)}"
        ) from None


def since(name: str, first: str) -> bool:
    """Whether release `name` has what came with release `first`."""
    return release(name).order >= release(first).order
