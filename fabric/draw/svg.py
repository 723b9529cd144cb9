"""A scene as SVG: places, colours, strokes. One self-contained file; tooltips by <title>, so it works anywhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from textwrap import wrap

from fabric.cabling.labels import RAIL_COLOURS
from fabric.draw.scene import Block, Box, Cell, Column, Line, Row, Scene
from fabric.values.plan import LifeState, Network

_GREY = "#6b7280"
_STYLE = """
text { font-family: "DejaVu Sans", Verdana, sans-serif; fill: #1f2937 }
.sub { fill: #4b5563 }
.box { fill: #f3f4f6; stroke: #374151; stroke-width: 1.2 }
.copy { stroke-dasharray: 3 2 }
.row { stroke: #d1d5db; stroke-width: 1 }
.line { fill: none; stroke-opacity: .55 }
.cell { stroke-width: 1 }
.planned { fill: #fff; stroke-dasharray: 2 1.5 }
.out { fill: #fff }
.pod { fill: #fff; stroke: #9ca3af; stroke-width: 1 }
"""


@dataclass(slots=True)
class _Sizes:
    """Measures in px that depend on how much there is to draw."""

    pitch: float
    row: float
    cell: float
    font: float
    label: float


@dataclass(slots=True)
class _Canvas:
    sizes: _Sizes
    parts: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    # switch or box key -> x of its left edge, width, y of its top, y of its bottom
    place: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    width: float = 0
    height: float = 0


def svg(scene: Scene) -> str:
    """The whole file."""
    canvas = _Canvas(_sizes(scene))
    top = 92.0
    tier_gap, box_high = _gap(scene), 30.0
    tier_tops = [
        top + (len(scene.tiers) - 1 - level) * (box_high + tier_gap * 0.8) for level in range(len(scene.tiers))
    ]
    blocks_top = (tier_tops[0] + box_high + tier_gap) if scene.tiers else top + 10
    _blocks(canvas, scene, blocks_top)
    for boxes, y in zip(scene.tiers, tier_tops, strict=True):
        _tier(canvas, boxes, y, box_high)
    _lines(canvas, scene)
    head = "".join(_header(scene, canvas.width))
    remarks = _remarks(scene, canvas.width)
    canvas.height += 14 * len(remarks)
    foot = "".join(_footer(canvas, remarks))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {canvas.width:.0f} {canvas.height:.0f}" '
        f'width="{canvas.width:.0f}" height="{canvas.height:.0f}" role="img">'
        f"<title>{escape(scene.name)}</title><style>{_STYLE}</style>"
        f'<rect width="100%" height="100%" fill="#fff"/>'
        f'{head}<g id="lines">{"".join(canvas.back)}</g><g id="things">{"".join(canvas.parts)}</g>{foot}</svg>\n'
    )


def colour(rail: int | None) -> str:
    """Colour of a rail; grey for what belongs to none."""
    return _GREY if rail is None else RAIL_COLOURS[rail % len(RAIL_COLOURS)]


def _sizes(scene: Scene) -> _Sizes:
    rows = max((len(block.rows) for block in scene.blocks), default=0)
    columns = sum(len(block.columns) for block in scene.blocks)
    longest = max((len(row.names) for block in scene.blocks for row in block.rows), default=6)
    longest = min(longest, 30)
    title = max((len(word) for block in scene.blocks for word in block.title.split(", ")), default=0) * 7.6 + 20
    if rows <= 12 and columns <= 24:
        return _Sizes(pitch=86, row=30, cell=20, font=11, label=max(title, longest * 7.4 + 16))
    if rows <= 40 and columns <= 40:
        return _Sizes(pitch=56, row=19, cell=13, font=10, label=max(title, longest * 6.8 + 14))
    return _Sizes(pitch=42, row=14, cell=9, font=8.5, label=max(title, longest * 5.8 + 12))


def _gap(scene: Scene) -> float:
    cables = len(scene.lines)
    return 110.0 if cables <= 40 else 170.0 if cables <= 200 else 250.0


def _least_width(scene: Scene) -> float:
    widest = max((len(boxes) for boxes in scene.tiers), default=0)
    return max(720.0, widest * 64.0 + 80)


def _header(scene: Scene, width: float) -> Iterator[str]:
    yield f'<text x="24" y="34" font-size="20" font-weight="bold">{escape(scene.name)}</text>'
    yield f'<text x="24" y="54" font-size="11.5" class="sub">{escape(scene.subtitle)}</text>'
    x = 24.0
    for rail in range(min(scene.rails, 16)):
        yield f'<rect x="{x:.0f}" y="66" width="11" height="11" rx="2" fill="{colour(rail)}"/>'
        text = f"rail {rail}"
        yield f'<text x="{x + 15:.0f}" y="76" font-size="10.5">{text}</text>'
        x += 62
    for cls, text in (("", "in service"), ("planned", "planned"), ("out", "out of service")):
        if x + 100 > width:
            break
        yield _mark(x, 66, 11, 11, _GREY, cls)
        yield f'<text x="{x + 15:.0f}" y="76" font-size="10.5">{text}</text>'
        x += 26 + 7 * len(text)


def _footer(canvas: _Canvas, lines: list[str]) -> Iterator[str]:
    y = canvas.height - 14 * len(lines)
    for text in lines:
        yield f'<text x="24" y="{y:.0f}" font-size="10" class="sub">{escape(text)}</text>'
        y += 14


def _remarks(scene: Scene, width: float) -> list[str]:
    """What was folded and what the Plan says with every output, in lines that fit."""
    texts = (*scene.folded, *(f"note: {note}" for note in scene.notes))
    return [line for text in texts for line in wrap(text, max(40, int((width - 48) / 6.2)), subsequent_indent="   ")]


def _blocks(canvas: _Canvas, scene: Scene, top: float) -> None:
    widths = [_width(canvas.sizes, block) for block in scene.blocks]
    whole = sum(widths) + 26 * max(len(widths) - 1, 0)
    canvas.width = max(whole + 48, _least_width(scene))
    x, bottom = (canvas.width - whole) / 2, top
    for block, wide in zip(scene.blocks, widths, strict=True):
        bottom = max(bottom, _block(canvas, block, x, top, wide))
        x += wide + 26
    canvas.height = _chips(canvas, scene, bottom + 16) + 24


def _width(sizes: _Sizes, block: Block) -> float:
    return sizes.label + len(block.columns) * sizes.pitch + _gutter(sizes, block) + 14


def _gutter(sizes: _Sizes, block: Block) -> float:
    """Room between the leaves of a block and its storage switches."""
    networks = {column.network for column in block.columns}
    return sizes.pitch * 0.45 if len(networks) > 1 else 0.0


def _chips(canvas: _Canvas, scene: Scene, top: float) -> float:
    """Small boxes in rows; returns where they end."""
    if not scene.chips:
        return top - 16
    wide, high, pad = 112.0, 20.0, 6.0
    a_row = max(1, int((canvas.width - 48 + pad) / (wide + pad)))
    for number, chip in enumerate(scene.chips):
        x = 24 + number % a_row * (wide + pad)
        y = top + number // a_row * (high + pad)
        size = min(10.0, (wide - 6) / (0.62 * len(chip.label)))
        canvas.parts.append(
            f'<g class="t" data-n="{escape(chip.devices)}"><title>{escape(chip.title)}</title>'
            f'<rect class="box" x="{x:.1f}" y="{y:.1f}" width="{wide:.0f}" height="{high:.0f}" rx="3"/>'
            f'<text x="{x + wide / 2:.1f}" y="{y + high / 2 + size * 0.36:.1f}" font-size="{size:.1f}" '
            f'text-anchor="middle">{escape(chip.label)}</text></g>'
        )
    return top + -(-len(scene.chips) // a_row) * (high + pad)


def _block(canvas: _Canvas, block: Block, x: float, top: float, wide: float) -> float:
    sizes = canvas.sizes
    main = [column for column in block.columns if column.network is Network.COMPUTE]
    gap = _gutter(sizes, block)
    heads = top + 14
    head_high = max(18.0, sizes.font + 9)
    first = heads + head_high + sizes.row * 0.9
    low = first + len(block.rows) * sizes.row + 6
    canvas.back.append(
        f'<rect class="pod" x="{x:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{low - top:.1f}" rx="6"/>'
    )
    for at, word in enumerate(block.title.split(", ")):
        canvas.parts.append(
            f'<text x="{x + 10:.1f}" y="{heads + head_high / 2 + 4 + at * 13:.1f}" font-size="{12 - 2 * at}" '
            f'font-weight="bold">{escape(word)}</text>'
        )
    centres = []
    for number, column in enumerate(block.columns):
        cx = x + sizes.label + number * sizes.pitch + sizes.pitch / 2 + (gap if number >= len(main) else 0)
        centres.append(cx)
        _column(canvas, column, cx, heads, head_high, low - 8)
    for number, row in enumerate(block.rows):
        y = first + (number + 0.5) * sizes.row
        _row(canvas, row, x, y, centres)
    for cell in block.cells:
        cx = centres[cell.column]
        y = first + (cell.row + 0.5) * sizes.row
        span = sizes.pitch * (0.86 if sizes.pitch > 80 else 0.62)
        width = span / cell.slots
        left = cx - span / 2 + cell.slot * width
        shown = escape(cell.short) if sizes.pitch > 80 and cell.slots == 1 else ""
        text = (
            f'<text x="{cx:.1f}" y="{y + 3.4:.1f}" font-size="9.5" text-anchor="middle" pointer-events="none" '
            f'style="fill:{_ink(cell)}">{shown}</text>'
            if shown
            else ""
        )
        mark = _mark(
            left + 0.5,
            y - sizes.cell / 2,
            width - 1,
            sizes.cell,
            colour(cell.rail),
            _state(cell.state),
            cell.devices,
            cell.title,
        )
        canvas.parts.append(mark + text)
    return low


def _column(canvas: _Canvas, column: Column, cx: float, y: float, high: float, low: float) -> None:
    sizes = canvas.sizes
    wide = sizes.pitch - 5
    shade = colour(column.rail)
    canvas.back.append(
        f'<line x1="{cx:.1f}" y1="{y + high:.1f}" x2="{cx:.1f}" y2="{low:.1f}" stroke="{shade}" '
        f'stroke-width="1.6" stroke-opacity=".35"/>'
    )
    where = f", rail {column.rail}" if column.rail is not None else ""
    where += f", plane {column.plane}" if column.plane is not None else ""
    kind = "leaf" if column.network is Network.COMPUTE else "storage switch"
    copy = " copy" if column.copy else ""
    size = min(sizes.font, wide / (0.62 * max(len(column.switch), 1)))
    canvas.parts.append(
        f'<g class="t" data-n="{escape(column.switch)}"><title>{escape(column.switch)}: {kind}{where}, '
        f"{column.state.value}</title>"
        f'<rect class="box{copy}{_class(column.state)}" x="{cx - wide / 2:.1f}" y="{y:.1f}" width="{wide:.1f}" '
        f'height="{high:.1f}" rx="3" style="stroke:{shade}"/>'
        f'<text x="{cx:.1f}" y="{y + high / 2 + size * 0.36:.1f}" font-size="{size:.1f}" text-anchor="middle">'
        f"{escape(column.switch)}</text>{_crossed(column.state, cx - wide / 2, y, wide, high)}</g>"
    )
    canvas.place.setdefault(column.switch, (cx - wide / 2, wide, y, y + high))


def _row(canvas: _Canvas, row: Row, x: float, y: float, centres: list[float]) -> None:
    sizes = canvas.sizes
    if centres:
        canvas.back.append(
            f'<line class="row" x1="{x + sizes.label - 4:.1f}" y1="{y:.1f}" x2="{centres[-1]:.1f}" y2="{y:.1f}"/>'
        )
    shown = row.names if len(row.names) <= 30 else f"{row.names[:27]}..."
    kind = "reserve place" if row.reserve else "host"
    kind = f"{row.count} {kind}s" if row.count > 1 else kind
    weight = "" if not row.reserve else ' class="sub" font-style="italic"'
    canvas.parts.append(
        f'<g class="t" data-n="{escape(row.names)}"><title>{escape(row.names)}: {kind}, {escape(row.host_class)}, '
        f"{row.state.value}</title>"
        f'<text x="{x + sizes.label - 8:.1f}" y="{y + sizes.font * 0.36:.1f}" font-size="{sizes.font}" '
        f'text-anchor="end"{weight}>{escape(shown)}</text></g>'
    )


def _tier(canvas: _Canvas, boxes: tuple[Box, ...], y: float, high: float) -> None:
    count = len(boxes)
    span = canvas.width - 48
    pitch = span / count
    wide = min(pitch - 8, 150.0 if any(box.count > 1 for box in boxes) else 96.0 if count <= 16 else 64.0)
    for number, box in enumerate(boxes):
        cx = 24 + (number + 0.5) * pitch
        size = min(12.0, wide / (0.62 * max(len(box.label), 1)))
        second = f"pod {box.pod}" if box.pod is not None and box.count > 1 else ""
        if box.plane is not None and box.count > 1:
            second = f"{second} plane {box.plane}".strip()
        canvas.place[box.key] = (cx - wide / 2, wide, y, y + high)
        middle = y + high / 2
        stack = (
            f'<rect class="box" x="{cx - wide / 2 + 3:.1f}" y="{y - 3:.1f}" width="{wide:.1f}" '
            f'height="{high:.0f}" rx="4"/>'
            if box.count > 1
            else ""
        )
        label = (
            f'<text x="{cx:.1f}" y="{middle + (-1 if second else size * 0.36):.1f}" font-size="{size:.1f}" '
            f'text-anchor="middle">{escape(box.label)}</text>'
        )
        if second:
            label += f'<text x="{cx:.1f}" y="{middle + 11:.1f}" font-size="9" text-anchor="middle">{second}</text>'
        canvas.parts.append(
            f'<g class="t" data-n="{escape(box.devices)}"><title>{escape(box.title)}</title>{stack}'
            f'<rect class="box{_class(box.state)}" x="{cx - wide / 2:.1f}" y="{y:.1f}" width="{wide:.1f}" '
            f'height="{high:.0f}" rx="4"/>{label}{_crossed(box.state, cx - wide / 2, y, wide, high)}</g>'
        )


def _lines(canvas: _Canvas, scene: Scene) -> None:
    """Strokes fan out over the width of both boxes in the order of their far ends, so that they can be told apart."""
    down: dict[str, list[Line]] = defaultdict(list)
    up: dict[str, list[Line]] = defaultdict(list)
    for line in scene.lines:
        if line.lower in canvas.place and line.upper in canvas.place:
            down[line.upper].append(line)
            up[line.lower].append(line)
    start: dict[int, float] = {}
    end: dict[int, float] = {}
    for key, members in up.items():
        _spread(canvas, key, sorted(members, key=lambda line: canvas.place[line.upper][0]), start)
    for key, members in down.items():
        _spread(canvas, key, sorted(members, key=lambda line: canvas.place[line.lower][0]), end)
    crowded = len(scene.lines) > 200
    for line in scene.lines:
        if id(line) not in start or id(line) not in end:
            continue
        low, high = canvas.place[line.lower][2], canvas.place[line.upper][3]
        x1, x2, bend = start[id(line)], end[id(line)], (low - high) * 0.42
        width = 0.8 if crowded else 1.6 if line.cables == 1 else min(1.4 + line.cables**0.5 * 0.35, 7)
        dash = ' stroke-dasharray="3 3"' if line.state is LifeState.PLANNED else ""
        dash = ' stroke-dasharray="1 4"' if line.state is LifeState.OUT_OF_SERVICE else dash
        canvas.back.append(
            f'<path class="line t" data-n="{escape(line.devices)}" stroke="{colour(line.rail)}" '
            f'stroke-width="{width:.1f}"{dash} '
            f'd="M{x1:.1f} {low:.1f}C{x1:.1f} {low - bend:.1f} {x2:.1f} {high + bend:.1f} {x2:.1f} {high:.1f}">'
            f"<title>{escape(line.title)}</title></path>"
        )
        if line.label and len(scene.lines) <= 40:
            canvas.parts.append(_line_label(line, x1, low, x2, high))


def _line_label(line: Line, x1: float, low: float, x2: float, high: float) -> str:
    """How many cables a stroke stands for, written at its lower third."""
    x, y = x1 + (x2 - x1) * 0.1, low - (low - high) * 0.24
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="9.5" text-anchor="middle" pointer-events="none" '
        f'style="paint-order:stroke;stroke:#fff;stroke-width:3px">{escape(line.label)}</text>'
    )


def _spread(canvas: _Canvas, key: str, lines: list[Line], into: dict[int, float]) -> None:
    left, wide, _, _ = canvas.place[key]
    for number, line in enumerate(lines):
        into[id(line)] = left + wide * (number + 0.5) / len(lines)


def _mark(
    x: float, y: float, wide: float, high: float, shade: str, cls: str, devices: str = "", title: str = ""
) -> str:
    """A cell: filled when in service, hollow when planned, crossed when out of service."""
    inner = f"<title>{escape(title)}</title>" if title else ""
    data = f' data-n="{escape(devices)}"' if devices else ""
    fill = f' fill="{shade}"' if not cls else ""
    rect = (
        f'<rect class="cell {cls}" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" rx="2"{fill} '
        f'stroke="{shade}"/>'
    )
    cross = ""
    if cls == "out":
        cross = (
            f'<path d="M{x:.1f} {y:.1f}l{wide:.1f} {high:.1f}m0 {-high:.1f}l{-wide:.1f} {high:.1f}" stroke="{shade}" '
            f'stroke-width="1.4"/>'
        )
    kind = "t" if title else ""
    return f'<g class="{kind}"{data}>{inner}{rect}{cross}</g>'


def _crossed(state: LifeState, x: float, y: float, wide: float, high: float) -> str:
    """The cross over a switch that is out of service."""
    if state is not LifeState.OUT_OF_SERVICE:
        return ""
    return (
        f'<path d="M{x:.1f} {y:.1f}l{wide:.1f} {high:.1f}m0 {-high:.1f}l{-wide:.1f} {high:.1f}" stroke="#b91c1c" '
        f'stroke-width="1.4" pointer-events="none"/>'
    )


def _ink(cell: Cell) -> str:
    """White on dark rails, dark on light ones and on hollow cells."""
    shade = colour(cell.rail)
    red, green, blue = (int(shade[at : at + 2], 16) for at in (1, 3, 5))
    light = 0.299 * red + 0.587 * green + 0.114 * blue > 140
    return "#1f2937" if light or _state(cell.state) else "#fff"


def _state(state: LifeState) -> str:
    return {LifeState.PLANNED: "planned", LifeState.OUT_OF_SERVICE: "out"}.get(state, "")


def _class(state: LifeState) -> str:
    text = _state(state)
    return f" {text}" if text else ""
