// The panel beside the grid: what is selected, and what can be done with it.

import { about, alikeStrip } from "./about.js";
import { get, post } from "./api.js";
import { suggestions } from "./chips.js";
import { counted, fill, h, thumbnail } from "./dom.js";
import { give } from "./naming.js";
import { confirm, notice, told } from "./notices.js";
import { store } from "./store.js";

export class SelectionPanel {
  constructor() {
    this.element = h("aside", { class: "side selection", "aria-label": "The selection" });
    this.number = 0;
    this.heard = () => this.refresh();
    for (const name of ["selection", "changed", "list"]) store.addEventListener(name, this.heard);
  }

  close() {
    for (const name of ["selection", "changed", "list"]) store.removeEventListener(name, this.heard);
  }

  async refresh() {
    const ids = [...store.selected];
    const number = (this.number += 1);
    this.element.classList.toggle("open", ids.length > 0);
    if (!ids.length) {
      fill(this.element, h("p", { class: "soft" }, "Click a picture to see what is known of it. Hold Shift or Ctrl to select several."));
    } else if (ids.length > 1) {
      this.#several(ids);
    } else {
      const details = await told(() => get(`/pictures/${ids[0]}`));
      if (details && number === this.number) this.#one(details);
    }
  }

  #shut() {
    return h("button", { type: "button", class: "quiet sheet-close", onclick: () => store.select([]) }, "Close");
  }

  #one(details) {
    const alike = h("div");
    fill(this.element, this.#shut(),
      h("img", { class: "preview", src: thumbnail(details.key), alt: details.name }),
      h("p", { class: "file-name" }, details.name), about(details),
      h("div", { class: "actions" }, h("button", { type: "button", class: "quiet", onclick: () => remove([details.id]) }, "Remove from the collection")),
      alike);
    const number = this.number;
    alikeStrip(details.id).then((strip) => { if (number === this.number && strip) fill(alike, strip); });
  }

  #several(ids) {
    const known = ids.map((id) => store.labels.get(id)).filter(Boolean);
    store.need(ids.slice(0, 1000)).then(() => {});
    const open = known.flatMap((one) => suggestions(one).map((each) => ({ id: one.id, kind: each.kind, name: each.name })));
    const decide = async (state) => {
      if (await store.decide(open.map((one) => ({ ...one, state })))) notice(`${counted(open.length, "suggestion")} ${state}.`);
    };
    fill(this.element, this.#shut(), h("h1", {}, `${counted(ids.length, "picture")} selected`),
      h("div", { class: "actions" },
        h("button", { type: "button", class: "main", onclick: () => give("tag", ids) }, "Tag ", h("kbd", {}, "t")),
        h("button", { type: "button", onclick: () => give("class", ids) }, "Class ", h("kbd", {}, "c"))),
      open.length ? [h("h2", {}, "Suggestions"), h("p", { class: "soft" }, `${open.length} suggestions wait for a decision.`),
        h("div", { class: "actions" },
          h("button", { type: "button", onclick: () => decide("accepted") }, "Accept all"),
          h("button", { type: "button", onclick: () => decide("rejected") }, "Reject all"))] : null,
      h("div", { class: "actions" },
        h("button", { type: "button", class: "quiet", onclick: () => remove(ids) }, "Remove from the collection"),
        h("button", { type: "button", class: "quiet", onclick: () => store.select([]) }, "Select none ", h("kbd", {}, "esc"))));
  }
}

/** Forgets pictures; their files stay. */
export async function remove(ids) {
  const sure = await confirm("Remove from the collection?",
    `${counted(ids.length, "picture")} and what was said of them leave the collection. The files stay where they are. You can undo this.`, "Remove");
  if (sure && (await told(() => post("/removals", { ids })))) {
    store.select([]);
    store.tell("reload");
    notice(`${counted(ids.length, "picture")} removed.`);
  }
}
