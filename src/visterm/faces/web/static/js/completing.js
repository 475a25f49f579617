// A list under an input that completes what is typed.

import { h, settled } from "./dom.js";

/**
 * Completes an input. `find(text)` resolves with [{text, kind, pictures, heading}]; `take(item, input)` puts it in;
 * `done(text)` is called when the person presses Enter without a choice.
 */
export function completing(input, { find, take, done = () => {} }) {
  const list = h("ul", { class: "completions", role: "listbox", id: `list-${Math.random().toString(36).slice(2)}`, hidden: true });
  input.after(list);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", list.id);
  input.setAttribute("aria-expanded", "false");
  let items = [];
  let chosen = -1;

  const close = () => {
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = () => {
    [...list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === chosen)));
    if (chosen >= 0) {
      input.setAttribute("aria-activedescendant", list.children[chosen].id);
      list.children[chosen].scrollIntoView({ block: "nearest" });
    }
  };
  const pick = (i) => { take(items[i], input); close(); };
  const show = (found) => {
    items = found;
    chosen = -1;
    list.replaceChildren(...found.map((item, i) => item.heading
      ? h("li", { class: "heading", role: "presentation" }, item.heading)
      : h("li", {
        role: "option", id: `${list.id}-${i}`, "aria-selected": "false",
        onmousedown: (event) => { event.preventDefault(); pick(i); },
      }, h("span", { class: "what" }, item.text), h("span", { class: "kind" }, item.kind || ""),
      item.pictures ? h("span", { class: "kind number" }, item.pictures) : null)));
    list.hidden = !found.length || document.activeElement !== input;
    input.setAttribute("aria-expanded", String(!list.hidden));
  };
  let asked = 0;
  const ask = async () => {
    const number = (asked += 1);
    const found = await find(input.value).catch(() => []);
    if (number === asked) show(found);
  };
  const later = settled(ask, 60);
  const step = (by) => {
    if (list.hidden || !items.length) return;
    do { chosen = (chosen + by + items.length + 1) % (items.length + 1); } while (items[chosen]?.heading);
    if (chosen === items.length) chosen = -1;
    mark();
  };

  input.addEventListener("input", later);
  input.addEventListener("focus", ask);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") step(1);
    else if (event.key === "ArrowUp") step(-1);
    else if (event.key === "Tab" && !event.shiftKey && !list.hidden && (chosen >= 0 || input.value.trim())) pick(Math.max(0, chosen));
    else if (event.key === "Escape" && !list.hidden) { close(); event.stopPropagation(); }
    else if (event.key === "Enter") { if (chosen >= 0) pick(chosen); else { close(); done(input.value); } }
    else return;
    event.preventDefault();
  });
  return { close };
}
