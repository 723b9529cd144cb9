"""FRR text into contexts and lines: what `frr.conf` and `show running-config` have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# A context is the path of lines that lead into it; () is the top.
Path = tuple[str, ...]

_OPENS = re.compile(
    r"^(router |interface |vrf |route-map |bfd$|line |key chain |pbr-map |segment-routing|nexthop-group )"
)
_OPENS_INSIDE = re.compile(r"^(address-family |peer |profile )")
_CLOSES = re.compile(r"^(exit|end|exit-address-family|exit-vrf)$")
_NOISE = re.compile(r"^(!.*|Building configuration\.\.\.|Current configuration:.*|frr version .*)?$")

# Lines SONiC writes into our FRR by itself: in the running configuration they are no difference and are not removed
# (sonic.md 1.7). Where our text has them too, they are ours to add.
ADDED_BY_SONIC: Mapping[str, str] = {
    r"(enable )?password .*": "docker-fpm-frr zebra.conf.j2: the vty password of the stock image",
    r"log .*": "docker-fpm-frr templates",
    r"agentx": "docker-fpm-frr: SNMP",
    r"ip(v6)? nht resolve-via-default": "zebra.conf.j2 of the stock image",
    r"ip(v6)? protocol bgp route-map RM_SET_SRC6?": "bgpcfgd writes it once Loopback0 is up",
    r"route-map RM_SET_SRC6? permit 10": "bgpcfgd writes it once Loopback0 is up",
}
# Lines that say how a daemon was started. A command does not change them, so neither side's are a difference.
SET_AT_START: Mapping[str, str] = {
    r"frr defaults .*": "the profile a daemon was started with (-F)",
    r"hostname .*": "follows DEVICE_METADATA hostname",
    r"(no )?service .*": "whether the file is one or many",
    r"(no )?fpm use-next-hop-groups": "docker_init.sh appends it to the file",
    r"fpm address .*": "docker_init.sh appends it to the file",
    r"(no )?zebra nexthop kernel enable": "FRR before 9 loses next hops with it (lab.md 6.3)",
    r"zebra nexthop-group keep .*": "zebra.conf.j2 of the stock image",
}
_ADDED = re.compile("|".join(f"(?:{pattern})" for pattern in ADDED_BY_SONIC))
_AT_START = re.compile("|".join(f"(?:{pattern})" for pattern in SET_AT_START))


@dataclass(frozen=True, slots=True)
class FrrConfig:
    """Lines by context, both in the order of the text. An empty context (`route-map X permit 10`) is there too."""

    contexts: Mapping[Path, Sequence[str]]

    def lines(self, path: Path) -> Sequence[str]:
        """Lines of a context, empty when it is not there."""
        return self.contexts.get(path, ())

    def bgp(self) -> Path | None:
        """The context of the first BGP instance."""
        return next((path for path in self.contexts if len(path) == 1 and path[0].startswith("router bgp ")), None)

    def peers(self) -> tuple[str, ...]:
        """Every BGP peer, in order; groups are not peers."""
        bgp = self.bgp()
        if bgp is None:
            return ()
        groups = set(self.groups())
        names = (line.split()[1] for line in self.lines(bgp) if line.startswith("neighbor ") and len(line.split()) > 2)
        return tuple(dict.fromkeys(name for name in names if name not in groups))

    def groups(self) -> tuple[str, ...]:
        """Every peer group, in order."""
        bgp = self.bgp()
        words = (line.split() for line in self.lines(bgp)) if bgp else ()
        return tuple(word[1] for word in words if len(word) == 3 and word[0] == "neighbor" and word[2] == "peer-group")

    def members(self, group: str) -> tuple[str, ...]:
        """Peers of a group."""
        bgp = self.bgp()
        if bgp is None:
            return ()
        found = (re.match(r"neighbor (\S+) (?:interface )?peer-group (\S+)$", line) for line in self.lines(bgp))
        return tuple(match[1] for match in found if match and match[2] == group)


def parse(text: str) -> FrrConfig:
    """Read frr.conf or `show running-config`. Indentation does not count, contexts do; noise is left out."""
    contexts: dict[Path, list[str]] = {(): []}
    path: Path = ()
    for raw in text.splitlines():
        line = " ".join(raw.split())
        if _NOISE.match(line):
            continue
        if _CLOSES.match(line):
            path = path[:-1]
            continue
        if not raw.startswith(" ") and path:
            # Older FRR writes no `exit`: a line at the margin closes what was open.
            path = ()
        if not path and _OPENS.match(line):
            path = (line,)
            contexts.setdefault(path, [])
        elif path and len(path) == 1 and not path[0].startswith("interface") and _OPENS_INSIDE.match(line):
            path = (*path, line)
            contexts.setdefault(path, [])
        else:
            lines = contexts.setdefault(path, [])
            if line not in lines:
                lines.append(line)
    return FrrConfig(contexts)


def write(config: FrrConfig) -> str:
    """Text that `parse` reads back as the same configuration."""
    lines: list[str] = list(config.lines(()))
    for path, inside in config.contexts.items():
        if path:
            lines += [" " * depth + head for depth, head in enumerate(path)]
            lines += [" " * len(path) + line for line in inside]
            lines += ["exit"] * len(path)
    return "\n".join(lines) + "\n"


def added_by_sonic(path: Path, line: str) -> bool:
    """Whether SONiC itself writes such a line; see ADDED_BY_SONIC."""
    return _ADDED.fullmatch(path[0] if path else line) is not None


def set_at_start(path: Path, line: str) -> bool:
    """Whether the line says how a daemon was started; see SET_AT_START."""
    return not path and _AT_START.fullmatch(line) is not None
