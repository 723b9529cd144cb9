"""A scene as one HTML file: zoom, pan, hover, find. No network, no library."""

from __future__ import annotations

from html import escape

from fabric.draw.scene import Scene
from fabric.draw.svg import svg

_STYLE = """
html, body { margin: 0; height: 100%; font: 14px "DejaVu Sans", Verdana, sans-serif; color: #1f2937; background: #fff }
body { display: flex; flex-direction: column }
header { display: flex; gap: 12px; align-items: center; padding: 8px 14px; flex-wrap: wrap;
  border-bottom: 1px solid #d1d5db }
header b { font-size: 16px }
input { font: inherit; padding: 4px 8px; border: 1px solid #6b7280; border-radius: 4px; width: 15em }
button { font: inherit; padding: 4px 10px; border: 1px solid #6b7280; border-radius: 4px; background: #f9fafb;
  cursor: pointer }
main { flex: 1; min-height: 0; display: flex }
#view { flex: 1; overflow: hidden; position: relative; cursor: grab; touch-action: none }
#view.drag { cursor: grabbing }
#view svg { width: 100%; height: 100%; display: block }
#list { width: 30em; max-width: 40%; overflow: auto; border-left: 1px solid #d1d5db; padding: 10px 14px; display: none;
  white-space: pre-wrap; font: 12px/1.45 "DejaVu Sans Mono", monospace }
#tip { position: fixed; pointer-events: none; background: #111827; color: #fff; padding: 6px 9px; border-radius: 4px;
  white-space: pre; font: 12px/1.4 "DejaVu Sans Mono", monospace; display: none; z-index: 9; max-width: 90vw }
.found .t { opacity: .12 } .found .t.hit { opacity: 1 }
.found path.hit { stroke-width: 3; stroke-opacity: 1 }
.t:hover { filter: brightness(.85) } path.t:hover { stroke-width: 4; stroke-opacity: 1 }
path.t { pointer-events: stroke }
"""

_SCRIPT = r"""
'use strict';
const view = document.getElementById('view'), svg = view.querySelector('svg'), tip = document.getElementById('tip');
const list = document.getElementById('list'), find = document.getElementById('find');
const said = document.getElementById('said');
svg.removeAttribute('width'); svg.removeAttribute('height');
const whole = svg.viewBox.baseVal, full = [whole.x, whole.y, whole.width, whole.height];
let box = full.slice();
const show = () => svg.setAttribute('viewBox', box.join(' '));
const scale = () => Math.max(box[2] / view.clientWidth, box[3] / view.clientHeight);
const things = [...svg.querySelectorAll('.t')].map(el => {
  const t = el.querySelector('title'), text = t ? t.textContent : '';
  if (t) t.remove();
  return {el, text, names: (el.dataset.n || '').split(' ').map(pattern)};
});
const byEl = new Map(things.map(t => [t.el, t]));
// A name or a folded list such as p[1-2]-l0 or gpu[001-050,060]: a test for one name.
function pattern(text) {
  const tests = [];
  for (const part of text.match(/(?:[^,\[]|\[[^\]]*\])+/g) || []) {
    const spans = [];
    const source = part.replace(/[.*+?^${}()|\\]/g, '\\$&').replace(/\[([^\]]*)\]/g, (_, inner) => {
      spans.push(inner.split(',').map(s => s.split('-')));
      return '(\\d+)';
    });
    const re = new RegExp('^' + source + '$');
    tests.push(name => {
      const m = re.exec(name);
      return m !== null && spans.every((list, i) => list.some(([low, high]) => {
        const n = m[i + 1];
        return (low[0] !== '0' || low.length === 1 || n.length === low.length) &&
          +n >= +low && +n <= +(high === undefined ? low : high);
      }));
    });
  }
  return name => tests.some(test => test(name));
}
function search() {
  const name = find.value.trim();
  things.forEach(t => t.el.classList.remove('hit'));
  svg.classList.toggle('found', name !== '');
  list.style.display = name ? 'block' : 'none';
  if (!name) { said.textContent = ''; return; }
  const hits = things.filter(t => t.names.some(test => test(name)));
  hits.forEach(t => t.el.classList.add('hit'));
  said.textContent = hits.length ? '' : 'nothing of that name is drawn';
  list.textContent = hits.map(t => t.text).join('\n\n');
}
function whole_view() { box = full.slice(); show(); }
function focus() {
  const hits = things.filter(t => t.el.classList.contains('hit'));
  if (!hits.length) return;
  let [l, t, r, b] = [1e9, 1e9, -1e9, -1e9];
  for (const {el} of hits) {
    const q = el.getBBox();
    l = Math.min(l, q.x); t = Math.min(t, q.y); r = Math.max(r, q.x + q.width); b = Math.max(b, q.y + q.height);
  }
  const pad = 40; box = [l - pad, t - pad, r - l + 2 * pad, b - t + 2 * pad]; show();
}
find.addEventListener('input', search);
function reset() { find.value = ''; search(); whole_view(); }
find.addEventListener('keydown', e => { if (e.key === 'Enter') focus(); if (e.key === 'Escape') reset(); });
document.getElementById('all').addEventListener('click', reset);
view.addEventListener('wheel', e => {
  e.preventDefault();
  const k = Math.exp(e.deltaY * 0.0015), p = svg.createSVGPoint();
  p.x = e.clientX; p.y = e.clientY;
  const q = p.matrixTransform(svg.getScreenCTM().inverse());
  box = [q.x - (q.x - box[0]) * k, q.y - (q.y - box[1]) * k, box[2] * k, box[3] * k]; show();
}, {passive: false});
const fingers = new Map(); let apart = 0;
view.addEventListener('pointerdown', e => { fingers.set(e.pointerId, e); apart = 0; view.classList.add('drag'); });
function lift(e) {
  fingers.delete(e.pointerId); apart = 0;
  if (!fingers.size) view.classList.remove('drag');
}
for (const kind of ['pointerup', 'pointercancel', 'pointerleave']) view.addEventListener(kind, lift);
view.addEventListener('pointermove', e => {
  const before = fingers.get(e.pointerId);
  if (before) {
    fingers.set(e.pointerId, e);
    if (fingers.size === 1) {
      const k = scale(); box[0] -= (e.clientX - before.clientX) * k; box[1] -= (e.clientY - before.clientY) * k; show();
    } else {
      const [a, b] = [...fingers.values()], now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
      if (apart) {
        const k = apart / now, cx = box[0] + box[2] / 2, cy = box[1] + box[3] / 2;
        box = [cx - box[2] * k / 2, cy - box[3] * k / 2, box[2] * k, box[3] * k]; show();
      }
      apart = now;
    }
  }
  const el = e.target.closest && e.target.closest('.t'), t = el && byEl.get(el);
  tip.style.display = t && t.text ? 'block' : 'none';
  if (t && t.text) {
    tip.textContent = t.text;
    tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = Math.max(4, Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8)) + 'px';
  }
});
view.addEventListener('click', e => {
  const el = e.target.closest && e.target.closest('g.t'), name = el && el.dataset.n;
  if (name && !/[\[, ]/.test(name)) { find.value = name; search(); }
});
const wanted = new URLSearchParams(location.hash.slice(1)).get('find');
if (wanted) { find.value = wanted; search(); }
"""


def html(scene: Scene) -> str:
    """The whole file. `FILE.html#find=gpu017` opens it with a node marked."""
    name = escape(scene.name)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f'<header><b>{name}</b><label>find <input id="find" placeholder="gpu017, p1-l0, s3" autofocus></label>'
        '<button id="all">show all</button><span id="said" role="status"></span>'
        "<small>wheel zooms, drag moves, hover a cable for both ends, Enter goes to what is found</small></header>"
        f'<main><div id="view">{svg(scene)}</div><div id="list"></div></main><div id="tip"></div>'
        f"<script>{_SCRIPT}</script></body></html>\n"
    )
