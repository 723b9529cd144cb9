"""What an answer or a reading proves about a step: pure judgements."""

from __future__ import annotations

import re

from fabric.change.frr_diff import frr_diff
from fabric.deploy.hand import REBOOTED, VANISHED
from fabric.deploy.reading import FRR_FILE, Reading
from fabric.transport.session import Answer
from fabric.values.device_config import DeviceConfig


def patch_problem(answer: Answer) -> str | None:
    """Why `config apply-patch` did not do it, None when it did. Its success line alone proves nothing (F023)."""
    text = f"{answer.stdout}\n{answer.stderr}"
    if answer.rc in (REBOOTED, VANISHED):
        return answer.stderr.strip()
    scopes = re.search(r"on the following scopes:?\s*(.*)", text, re.DOTALL)
    failed = re.findall(r"^\s*-\s*(.+)$", scopes[1], re.MULTILINE) if scopes else []
    if failed:
        return f"some parts were applied and these were not: {'; '.join(failed[:5])}"
    if not answer.ok or re.search(r"^(Error|Failed)\b", text, re.MULTILINE):
        return reason(answer)
    return None if "Patch applied successfully" in text else f"no word of success: {reason(answer)}"


def lost_after_reload(reading: Reading, desired: DeviceConfig) -> list[str]:
    """What a reload lost: routing mode, frr.conf, or the neighbours in the running FRR (sonic.md 1.7)."""
    lost = []
    wanted = desired.tables.get("DEVICE_METADATA", {}).get("localhost", {})
    there = reading.config.tables.get("DEVICE_METADATA", {}).get("localhost", {})
    mode = "docker_routing_config_mode"
    if wanted.get(mode) != there.get(mode):
        lost.append(f"the routing mode is {there.get(mode)}, not {wanted.get(mode)}")
    if desired.frr is not None:
        if reading.frr_file is None:
            lost.append(f"{FRR_FILE} is gone")
        elif frr_diff(desired.frr, reading.frr_file).steps:
            lost.append(f"{FRR_FILE} is not the one that was put there")
        if reading.config.frr is None:
            lost.append("FRR does not answer yet")
        else:
            steps = frr_diff(desired.frr, reading.config.frr).steps
            if steps:
                lost.append(f"FRR runs without {len(steps)} of our lines")
    return lost


def reason(answer: Answer) -> str:
    """The last line a command said, for a person."""
    lines = [line.strip() for line in (answer.stderr or answer.stdout).splitlines() if line.strip()]
    text = lines[-1] if lines else "no reason given"
    return text if answer.rc in (0, None) else f"{text} (exit status {answer.rc})"
