// Makes elements. Text is always set as text, so nothing from pictures or people can become markup.

/** h("button", {class: "main", onclick: f, "aria-label": "Close"}, "Close", [child, ...]) */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(element.style, value);
    else if (key === "value" || key === "checked") element[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** The same for drawings. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children.filter(Boolean));
  return element;
}

/** Replaces all children. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const percent = (p) => (p >= 0.995 ? "99 %" : p < 0.01 ? "under 1 %" : `${Math.round(100 * p)} %`);

export const counted = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** The name of a file, without its folders. */
export const fileName = (path) => path.slice(path.lastIndexOf("/") + 1);

/** A note of the server as a sentence. */
export const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;

/** Whether there is no mouse, and so most likely no keyboard. */
export const byTouch = () => matchMedia("(hover: none)").matches;

/** A background of a picture's mean colours: four quarters. */
export function colours(hex) {
  if (!hex || hex.length !== 24) return "";
  const c = [0, 6, 12, 18].map((at) => `#${hex.slice(at, at + 6)}`);
  return `linear-gradient(to right, ${c[0]}, ${c[1]}) top / 100% 50% no-repeat, linear-gradient(to right, ${c[2]}, ${c[3]}) bottom / 100% 50% no-repeat`;
}

export const thumbnail = (key, size = "small") => `/api/v1/thumbnails/${key}/${size}.webp`;

/** Calls f once, after no more calls have come for a while. */
export function settled(f, milliseconds) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), milliseconds);
  };
}

/** Resolves when the browser has nothing else to do, after half a second at most. */
export const idle = () => new Promise((resolve) => {
  if (window.requestIdleCallback) requestIdleCallback(resolve, { timeout: 500 });
  else setTimeout(resolve, 50);
});
