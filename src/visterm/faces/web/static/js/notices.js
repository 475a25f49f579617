// Short messages at the edge, and questions that need an answer.

import { fill, h } from "./dom.js";

const place = () => document.getElementById("notices");

/** Shows a sentence for a while; `action` is {label, run}. */
export function notice(text, { bad = false, action = null, seconds = bad ? 10 : 5 } = {}) {
  const element = h("div", { class: bad ? "notice bad" : "notice" }, h("span", {}, text));
  const close = () => element.remove();
  if (action) {
    element.append(h("button", { type: "button", onclick: () => { close(); action.run(); } }, action.label));
  }
  place().append(element);
  while (place().children.length > 3) place().querySelector(".notice:not(.standing)").remove();
  setTimeout(close, 1000 * seconds);
}

/** A sentence that stays until it is called with null. */
export function standing(text) {
  place().querySelector(".standing")?.remove();
  if (text) place().prepend(h("div", { class: "notice bad standing" }, h("span", {}, text)));
}

/** Runs f; what goes wrong is told. Returns undefined then. */
export async function told(f) {
  try {
    return await f();
  } catch (error) {
    if (error.name !== "AbortError") notice(error.message, { bad: true });
    return undefined;
  }
}

/** Opens a dialog; resolves with what `close` is called with, or null. */
export function dialog(title, build) {
  return new Promise((resolve) => {
    const element = h("dialog", { "aria-label": title });
    const close = (value = null) => {
      element.close();
      element.remove();
      resolve(value);
    };
    element.addEventListener("cancel", (event) => { event.preventDefault(); close(); });
    element.addEventListener("click", (event) => { if (event.target === element) close(); });
    fill(element, h("h1", {}, title), build(close, element));
    document.body.append(element);
    element.showModal();
  });
}

/** Asks a question with two answers; resolves with true or false. If `careful`, no is the answer that is at hand. */
export async function confirm(title, text, yes, no = "Cancel", { careful = false } = {}) {
  return (await dialog(title, (close) => [
    h("p", {}, text),
    h("div", { class: "choices" },
      h("button", { type: "button", autofocus: careful, onclick: () => close(false) }, no),
      h("button", { type: "button", class: "main", autofocus: !careful, onclick: () => close(true) }, yes)),
  ])) === true;
}
