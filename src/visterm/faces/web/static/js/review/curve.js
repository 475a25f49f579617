// The measured quality against the number of labels: a thin line, and the same in words.

import { h, percent, svg } from "../dom.js";

const PAD = 4;

/** The newest measurement for each number of labels, by number of labels. */
function points(curve) {
  const newest = new Map(curve.map((point) => [point.labels, point.quality]));
  return [...newest].sort((a, b) => a[0] - b[0]);
}

/** What ten more minutes should bring, if that can be told apart from nothing. */
const hoped = ({ curve, expected }) => (curve.length && expected !== null && expected - curve.at(-1).quality >= 0.005 ? expected : null);

/** The line, with a dot at what is measured now and a dashed end to what is expected. */
export function curveLine(state, { width, height }) {
  const { curve } = state;
  const expected = hoped(state);
  const found = points(curve);
  if (found.length + (expected === null ? 0 : 1) < 2) return null;
  const now = curve.at(-1);
  const last = Math.max(found.at(-1)[0], now.labels);
  const first = found[0][0];
  const ahead = expected === null ? last : last + Math.max(10, 0.25 * (last - first || last));
  const values = [...found.map((point) => point[1]), ...(expected === null ? [] : [expected])];
  const [low, high] = [Math.min(...values) - 0.04, Math.max(...values) + 0.04];
  const x = (labels) => PAD + (width - 2 * PAD) * (ahead === first ? 0.5 : (labels - first) / (ahead - first));
  const y = (quality) => height - PAD - (height - 2 * PAD) * ((quality - low) / (high - low));
  const path = (line) => line.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  return svg("svg", { class: "curve", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    svg("path", { class: "base", d: `M${PAD} ${height - 1}H${width - PAD}` }),
    found.length > 1 ? svg("path", { class: "line", d: path(found) }) : null,
    expected === null ? null : svg("path", { class: "ahead", d: path([[now.labels, now.quality], [ahead, expected]]) }),
    svg("circle", { class: "now", cx: x(now.labels), cy: y(now.quality), r: 3 }));
}

/** How good it is in short, for a corner; nothing where that is not known. */
const short = ({ figure, kind }) => (figure?.value == null ? "" : `${kind === "class" ? "Classes" : "Tags"}: ${percent(figure.low)} to ${percent(figure.high)} right`);

/** What was measured, in words. */
export function curveWords(state) {
  const { figure, kind, labelled } = state;
  const what = kind === "class" ? "labels" : "tagged pictures";
  if (!figure) return `${labelled} ${what} so far. With a few more, Visterm can measure the quality.`;
  const later = figure.value === null || hoped(state) === null ? "" : `; about ${percent(hoped(state))} after ten more minutes`;
  return `${labelled.toLocaleString("en")} ${what}: ${figure.words}${later}`;
}

/** The small form for the corner of a queue. */
export const curveCorner = (state) => h("div", { class: "corner", title: curveWords(state), "data-fitted": state.fitted_changes },
  curveLine(state, { width: 96, height: 28 }),
  h("span", { class: "number" }, short(state)),
  h("span", { class: "visually-hidden" }, curveWords(state)));
