// A picture from outside, dropped, pasted or chosen: what it is, and what looks like it. It is not added.

import { look } from "./api.js";
import { chance, doubts } from "./chips.js";
import { fileName, h, thumbnail } from "./dom.js";
import { dialog, notice, told } from "./notices.js";
import { address, go, read } from "./state.js";

export async function lookAt(file) {
  if (!file.type.startsWith("image/")) { notice("This file is not a picture.", { bad: true }); return; }
  notice("Looking at the picture.");
  const found = await told(() => look(file));
  if (!found) return;
  const source = URL.createObjectURL(file);
  const to = await dialog("A picture from outside", (close) => [
    h("p", { class: "soft" }, "Visterm looked at it and did not add it."),
    h("img", { class: "preview looked-at", src: source, alt: "The picture from outside" }),
    doubts([...(found.classes.length ? [{ kind: "class" }] : []), ...(found.tags.length ? [{ kind: "tag" }] : [])]),
    likely("Class", found.classes.filter((one) => one.probability >= 0.01)),
    likely("Tags", found.tags),
    found.alike.length ? [h("h2", {}, "Looks like"), h("div", { class: "strip" }, found.alike.slice(0, 12).map((one) =>
      h("a", { href: address({ ...read(), view: "picture", part: [String(one.id)] }), onclick: (event) => { event.preventDefault(); close(one.id); } },
        h("img", { src: thumbnail(one.key), alt: fileName(one.path) }))))] : null,
    h("div", { class: "choices" }, h("button", { type: "button", class: "main", onclick: () => close() }, "Close")),
  ]);
  URL.revokeObjectURL(source);
  if (to) go({ view: "picture", part: [String(to)] });
}

const likely = (title, names) => [h("h2", {}, title), h("ul", { class: "labels" }, names.length
  ? names.map((one) => h("li", { class: "label machine" }, h("span", { class: "name" }, one.name), chance(one.probability)))
  : h("li", { class: "soft" }, "nothing is likely enough"))];

/** Takes pictures that are dropped on or pasted into the page. */
export function takePictures() {
  const hint = h("div", { class: "drop-hint", hidden: true }, h("p", {}, "Drop the picture to see what it is and what looks like it."));
  document.body.append(hint);
  addEventListener("dragover", (event) => {
    if (!event.dataTransfer || ![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    hint.hidden = false;
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) hint.hidden = true; });
  addEventListener("drop", (event) => {
    hint.hidden = true;
    const [file] = event.dataTransfer.files;
    if (file) { event.preventDefault(); lookAt(file); }
  });
  addEventListener("paste", (event) => {
    const item = [...event.clipboardData.items].find((one) => one.type.startsWith("image/"));
    if (item) lookAt(item.getAsFile());
  });
}
