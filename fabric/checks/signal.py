"""Signal quality: pre-FEC BER, uncorrectable codewords, predicted frame loss, symbol errors (PHY-01, PHY-02).

SONiC's post-FEC BER is synthetic and never reaches any usual limit, so uncorrectable codewords are judged instead
(facts ai-fabric 4.1). Raw BER alone fails no link below its tier (F060).
"""

from __future__ import annotations

from collections.abc import Mapping

from fabric.checks.judged import Judged
from fabric.checks.view import Life, Link, View
from fabric.checks.window import grown, span_s
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Severity, Status

_UNCORRECTABLE = "IF_IN_FEC_NOT_CORRECTABLE_FRAMES"
_CRC = "IF_IN_ERRORS"


def signal(view: View, judged: Judged) -> None:
    """Judge the receivers of every cable in scope; a device without rates or counters is noted, not passed."""
    blind: set[str] = set()
    for link in view.links:
        if link.life in (Life.PLANNED, Life.KNOWN_DOWN):
            continue
        for end in (link.a, link.b):
            if end[0] not in view.plan.switches or view.up(end) is not True:
                continue
            state = view.state(end[0])
            rates = (state.rates or {}).get(end[1]) if state is not None else None
            if rates is None:
                blind.add(end[0])
            else:
                _rates(view, link, end, rates, judged)
            _counters(view, link, end, judged)
    if blind:
        view.skip(f"bit error rates of {len(blind)} switch(es)", "no rates in the snapshot")
    if view.baseline is None:
        view.skip("uncorrectable codewords and receive errors", "counters need --baseline or --sample")


def _rates(view: View, link: Link, end: End, rates: Mapping[str, float], judged: Judged) -> None:
    ber = rates.get("FEC_PRE_BER")
    limits = view.limits
    if ber is not None:
        if ber >= limits.ber_warn:
            judged.claims.append(_ber(view, link, end, ber))
        else:
            judged.passed += 1
    loss = rates.get("FEC_FLR_PREDICTED")
    if loss is not None:
        # The objective is ten times wider at 100G (IEEE 802.3, facts ai-fabric 4.1).
        wall = limits.frame_loss_ratio * (10 if link.cable.speed_mbps <= 100_000 else 1)
        if loss > wall:
            judged.claims.append(
                _claim(
                    view,
                    link,
                    end,
                    "PHY-02",
                    Status.FAIL,
                    f"predicted frame loss ratio at most {wall:.1e}",
                    f"{view.name(end)}: predicted frame loss ratio {loss:.1e}",
                    "RATES FEC_FLR_PREDICTED",
                )
            )
        else:
            judged.passed += 1


def _ber(view: View, link: Link, end: End, ber: float) -> Claim:
    fails = ber >= view.limits.ber_fail
    return _claim(
        view,
        link,
        end,
        "PHY-01",
        Status.FAIL if fails else Status.WARN,
        f"pre-FEC BER below {view.limits.ber_warn:.0e}",
        f"{view.name(end)} receives with pre-FEC BER {ber:.1e}",
        "RATES FEC_PRE_BER; KP4 FEC ends at 2.4e-4",
    )


def _counters(view: View, link: Link, end: End, judged: Judged) -> None:
    if view.baseline is None:
        return
    row = grown(view, end[0], "counters", end[1])
    span = span_s(view, end[0]) or 0.0
    bad = row.by(_UNCORRECTABLE)
    if bad is not None:
        if bad > 0:
            repeated = _was_bad_before(view, end)
            judged.claims.append(
                _claim(
                    view,
                    link,
                    end,
                    "PHY-02",
                    Status.FAIL if repeated else Status.WARN,
                    "no uncorrectable codeword",
                    f"{view.name(end)}: {bad} uncorrectable codewords in {span:.0f} s"
                    + (", and in the window before" if repeated else ""),
                    _UNCORRECTABLE,
                )
            )
        else:
            judged.passed += 1
    errors = row.by(_CRC)
    if errors is not None and errors > 0 and not bad:
        judged.claims.append(
            _claim(
                view,
                link,
                end,
                "PHY-02",
                Status.WARN,
                "no receive error",
                f"{view.name(end)}: {errors} receive errors in {span:.0f} s",
                _CRC,
            )
        )
    elif errors == 0:
        judged.passed += 1


def _was_bad_before(view: View, end: End) -> bool:
    """Whether the last window of the history had uncorrectable codewords too."""
    if len(view.history) < 2:
        return False
    counts = []
    for snapshot in view.history[-2:]:
        state = snapshot.switches.get(end[0])
        row = (state.counters or {}).get(end[1], {}) if state is not None else {}
        counts.append(row.get(_UNCORRECTABLE))
    return counts[0] is not None and counts[1] is not None and counts[1] > counts[0]


def _claim(
    view: View, link: Link, end: End, code: str, status: Status, expected: str, observed: str, evidence: str
) -> Claim:
    far = link.b if link.a == end else link.a
    blocks = status is Status.FAIL and link.life is Life.SERVICE
    finding = Finding(
        code=code,
        status=status,
        severity=Severity.BLOCK if blocks else Severity.WARN,
        confidence=Confidence.CERTAIN,
        device=end[0],
        port=end[1],
        node=link.b[0] if link.host else None,
        nic=link.b[1] if link.host else None,
        rail=link.rail,
        nodes=(link.b[0],) if link.host else (),
        rails=(link.rail,) if link.rail is not None else (),
        cable=link.name,
        expected=expected,
        observed=observed,
        evidence=evidence,
        remedy=f"errors are made between the transmitter of {view.name(far)} and this receiver: clean and reseat both, "
        "then change the module there, then the cable",
    )
    return Claim(Cause.SIGNAL, finding, cables=frozenset({link.name}), devices=frozenset({link.a[0], link.b[0]}))
