// The keys, in one place: what each does, and the help that lists them.

import { h } from "./dom.js";
import { dialog } from "./notices.js";
import { VIEWS } from "./views.js";

const help = () => [
  ["/", "Search"], ["← ↑ ↓ →  h j k l", "Move"], ["space", "Select"], ["shift + arrows", "Select several"], ["enter", "Open"],
  ["esc", "Go back; clear the selection"], ["1 … 9", "Accept suggestion; choose in review"], ["shift + 1 … 9", "Reject suggestion"], ["n", "None of these suggestions"], ["t", "Add a tag"],
  ["c", "Give a class"], ["y  n  s", "Yes, no, skip in review"], ["a", "In review: these tags are all; of six, mark all"], ["↑  ↓", "In Teach: to the class, to the tags"], ["z", "Undo; in review, your last answer"], ["shift + z", "Redo"],
  [`g then ${VIEWS.map(({ key }) => key).join(", ")}`, `Go to ${VIEWS.map(({ word }) => word.toLowerCase()).join(", ")}`], ["d", "Light or dark"], ["?", "This help"],
];

export const showKeys = () => dialog("Keys", (close) => [
  h("dl", { class: "keys" }, help().map(([keys, text]) => [
    h("dt", {}, keys.split("  ").map((key) => [h("kbd", {}, key), " "])), h("dd", {}, text)])),
  h("div", { class: "choices" }, h("button", { type: "button", class: "main", onclick: () => close() }, "Close")),
]);

/** Calls the first action for a key, anywhere outside of inputs and dialogs; `current()` lists the tables of actions in order. */
export function listenToKeys(current) {
  let going = false;
  addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input, textarea, select") || document.querySelector("dialog[open]");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing) {
      if (event.key === "Escape" && event.target.matches?.("input")) event.target.blur();
      return;
    }
    if ((event.key === "Enter" || event.key === " ") && event.target.matches?.("button, a[href], summary")) return;
    const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code)?.[1];
    const name = digit ? (event.shiftKey ? "reject" : "accept")
      : going ? `go ${event.key}`
        : { Escape: "back", Enter: "enter", " ": "space", ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" }[event.key]
          || (event.key === "Z" ? "redo" : event.key === "z" ? "undo" : event.key);
    going = event.key === "g" && !going;
    for (const actions of current()) {
      if (actions?.[name] && actions[name](Number(digit)) !== false) {
        event.preventDefault();
        return;
      }
    }
  });
}
