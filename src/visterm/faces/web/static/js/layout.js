// Justified rows: pictures keep their shape, rows fill the width. Positions come from sizes alone.

/**
 * Rows of pictures. `shape(i)` is width / height. Returns arrays: x, width by picture; top, height, first by row.
 * A rule of `ruleHeight` is left before picture `ruleAt` (the first that is less likely). A row has at most `most` pictures.
 */
export function justify(n, shape, { width, target, gap, most = Infinity, ruleAt = -1, ruleHeight = 0 }) {
  const x = new Float32Array(n);
  const widths = new Float32Array(n);
  const tops = [];
  const heights = [];
  const firsts = [];
  let top = 0;
  let ruleTop = -1;
  let at = 0;
  while (at < n) {
    if (at === ruleAt) {
      ruleTop = top;
      top += ruleHeight;
    }
    const stop = at < ruleAt ? ruleAt : n;
    let sum = 0;
    let end = at;
    while (end < stop && end - at < most && sum * target + gap * (end - at) < width) {
      sum += clamp(shape(end));
      end += 1;
    }
    const room = width - gap * (end - at - 1);
    const full = end - at === most || sum * target + gap * (end - at) >= width;
    const height = full ? Math.min(room / sum, 2 * target) : Math.min(target, room / sum);
    let left = 0;
    for (let i = at; i < end; i += 1) {
      widths[i] = clamp(shape(i)) * height;
      x[i] = left;
      left += widths[i] + gap;
    }
    tops.push(top);
    heights.push(height);
    firsts.push(at);
    top += height + gap;
    at = end;
  }
  return { x, widths, tops, heights, firsts, height: top, ruleTop, n };
}

/** Very long pictures are cut to the middle: a panorama must not be a line. */
const clamp = (ratio) => Math.min(4, Math.max(0.4, ratio || 1.5));

/** The row that holds the height `y`. */
export function rowAt(tops, y) {
  let low = 0;
  let high = tops.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tops[middle] <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The row of picture `i`. */
export const rowOf = (firsts, i) => rowAt(firsts, i);
