// The full-screen frame of a queue: the way out, what it is, how much is left, the measured quality.

import { fill, h } from "../dom.js";
import { curveCorner } from "./curve.js";

export function frame(host, title, body, left) {
  const count = h("span", { class: "soft number", role: "status" });
  const corner = h("div", { class: "corner-place" });
  const element = h("section", { class: "queue", "aria-label": title },
    h("header", {},
      h("button", { type: "button", class: "quiet", onclick: () => host.leave() }, "‹ Review"),
      h("h2", {}, title), count, h("span", { class: "grow" }),
      h("button", { type: "button", class: "quiet", onclick: () => host.undo() }, "Undo ", h("kbd", {}, "z")), corner),
    body);
  element.update = () => {
    count.textContent = left();
    if (host.state) fill(corner, curveCorner(host.state));
  };
  return element;
}
