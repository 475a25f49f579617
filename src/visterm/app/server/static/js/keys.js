// The keys, in one place: what each does, and the help that lists them.

import { h } from "./dom.js";
import { dialog } from "./notices.js";

const HELP = [
  ["/", "Search"], ["← ↑ ↓ →  h j k l", "Move"], ["space", "Select"], ["shift + arrows", "Select several"], ["enter", "Open"],
  ["esc", "Back; select none"], ["1 … 9", "Accept suggestion"], ["shift + 1 … 9", "Reject suggestion"], ["t", "Add a tag"],
  ["c", "Give a class"], ["y  n  s", "Yes, no, skip in review"], ["z", "Undo"], ["shift + z", "Redo"],
  ["g then p, r", "Go to pictures, review"], ["d", "Light or dark"], ["?", "This help"],
];

export const showKeys = () => dialog("Keys", (close) => [
  h("dl", { class: "keys" }, HELP.map(([keys, text]) => [
    h("dt", {}, keys.split("  ").map((key) => [h("kbd", {}, key), " "])), h("dd", {}, text)])),
  h("div", { class: "choices" }, h("button", { type: "button", class: "main", onclick: () => close() }, "Close")),
]);

/** Calls actions[name] for keys anywhere outside of inputs and dialogs. */
export function listenToKeys(actions) {
  let going = false;
  addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input, textarea, select") || document.querySelector("dialog[open]");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing) {
      if (event.key === "Escape" && event.target.matches?.("input")) event.target.blur();
      return;
    }
    const digit = /^Digit([1-9])$/.exec(event.code)?.[1];
    const name = digit ? (event.shiftKey ? "reject" : "accept")
      : going ? `go ${event.key}`
        : { Escape: "back", Enter: "enter", " ": "space", ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" }[event.key]
          || (event.key === "Z" ? "redo" : event.key === "z" ? "undo" : event.key);
    going = event.key === "g" && !going;
    if (!actions[name] || actions[name](Number(digit)) === false) return;
    event.preventDefault();
  });
}
