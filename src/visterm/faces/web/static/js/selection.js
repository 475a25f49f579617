// The panel beside the grid: what is selected, and what can be done with it.

import { about, alikeStrip } from "./about.js";
import { decided } from "./actions.js";
import { get, post } from "./api.js";
import { byTouch, counted, fill, h, sentence, settled, thumbnail } from "./dom.js";
import { startJob } from "./jobs.js";
import { give } from "./naming.js";
import { confirm, notice, told } from "./notices.js";
import { go } from "./state.js";
import { store } from "./store.js";
import { commonLabels, commonSuggestions } from "./together.js";

// Arrow keys go from picture to picture; what is known of one is asked for when they rest.
const REST_MILLISECONDS = 90;
const ALIKE_MILLISECONDS = 350;

/** Of more selected pictures, only the labels of the first ones are shown. */
const MOST_ASKED = 5000;

const HEARD = ["selection", "changed", "list", "collection", "review"];

export class SelectionPanel {
  constructor() {
    this.element = h("aside", { class: "side selection", "aria-label": "The selection" });
    this.number = 0;
    this.heard = () => this.refresh();
    this.askOne = settled((id, number) => this.#load(id, number), REST_MILLISECONDS);
    this.heardLabels = () => { if (store.selected.size > 1) this.refresh(); };
    for (const name of HEARD) store.addEventListener(name, this.heard);
    store.addEventListener("labels", this.heardLabels);
  }

  close() {
    store.removeEventListener("labels", this.heardLabels);
    for (const name of HEARD) store.removeEventListener(name, this.heard);
  }

  refresh() {
    const ids = [...store.selected];
    const number = (this.number += 1);
    this.element.classList.toggle("open", ids.length > 0);
    if (!ids.length) {
      this.#none();
    } else if (ids.length > 1 || store.selecting) {
      this.#several(ids);
    } else {
      this.askOne(ids[0], number);
    }
  }

  async #load(id, number) {
    if (number !== this.number) return;
    const details = await told(() => get(`/pictures/${id}`));
    if (details && number === this.number) this.#one(details);
  }

  /** Nothing is selected: how far to trust what is suggested, what to do next, and the collection. */
  #none() {
    const { collection, quality, review } = store;
    const waiting = review?.ready ? review.teach + review.errors : 0;
    const figures = (quality?.figures || []).map((one) => h("p", {}, sentence(one.words)));
    fill(this.element,
      figures.length ? [h("h1", {}, "How far to trust it"), h("div", { class: "figures" }, figures)] : null,
      collection ? [h("div", { class: "actions" },
        waiting || review?.cold ? h("button", { type: "button", class: "main", onclick: () => go({ view: "review", part: [] }) }, waiting ? `Review ${waiting.toLocaleString("en")}` : "Begin to label") : null,
        collection.labelled && !collection.class_model && !collection.tag_model ? h("button", { type: "button", onclick: () => startJob("train") }, "Learn from my labels") : null),
      h(figures.length ? "h2" : "h1", {}, collection.name), h("dl", { class: "number" },
        h("dt", {}, "Pictures"), h("dd", {}, collection.pictures.toLocaleString("en")),
        h("dt", {}, "Labelled"), h("dd", {}, collection.labelled.toLocaleString("en")),
        h("dt", {}, "Suggestions"), h("dd", {}, collection.suggested ? counted(collection.suggested, "picture") : "none"))] : null,
      h("p", { class: "soft hint" }, byTouch()
        ? "Tap a picture to see what is known of it. “Select” takes several." : "Click a picture to see what is known of it. Drag over several to select them."));
  }

  #shut() {
    return h("button", { type: "button", class: "quiet sheet-close", onclick: () => store.select([]) }, "Close");
  }

  #one(details) {
    if (this.alikeOf !== details.id) this.alike = h("div");
    fill(this.element, this.#shut(),
      h("img", { class: "preview", src: thumbnail(details.key), alt: details.name }),
      h("p", { class: "file-name" }, details.name), about(details),
      h("div", { class: "actions" },
        h("button", { type: "button", onclick: () => go({ view: "picture", part: [String(details.id)] }) }, "Open ", h("kbd", {}, "enter")),
        h("button", { type: "button", class: "quiet", onclick: () => remove([details.id]) }, "Remove from the collection")),
      this.alike);
    if (this.alikeOf === details.id) return;
    const { alike } = this;
    setTimeout(async () => {
      if (this.alike !== alike || !alike.isConnected) return;
      this.alikeOf = details.id;
      const strip = await alikeStrip(details.id);
      if (strip) fill(alike, strip);
    }, ALIKE_MILLISECONDS);
  }

  #several(ids) {
    const asked = ids.slice(0, MOST_ASKED);
    const known = asked.map((id) => store.labels.get(id)).filter(Boolean);
    store.need(asked);
    fill(this.element, this.#shut(), h("h1", {}, `${counted(ids.length, "picture")} selected`),
      h("div", { class: "actions" },
        h("button", { type: "button", class: "main", onclick: () => give("tag", ids) }, "Tag ", h("kbd", {}, "t")),
        h("button", { type: "button", onclick: () => give("class", ids) }, "Class ", h("kbd", {}, "c"))),
      known.length < ids.length ? h("p", { class: "soft" }, `Of ${known.length.toLocaleString("en")} of them:`) : null,
      known.length ? [commonLabels(known.map(({ id }) => id), known), commonSuggestions(known)] : null,
      h("div", { class: "actions" },
        h("button", { type: "button", class: "quiet", onclick: () => remove(ids) }, "Remove from the collection"),
        h("button", { type: "button", class: "quiet", onclick: () => store.select([]) }, "Select none ", h("kbd", {}, "esc"))));
  }
}

/** Forgets pictures; their files stay. */
export async function remove(ids) {
  const sure = await confirm("Remove from the collection?",
    `${counted(ids.length, "picture")} and their labels leave the collection. The files stay where they are. You can undo this.`, "Remove");
  const done = sure && (await told(() => post("/removals", { ids })));
  if (done) {
    decided(done);
    store.select([]);
    store.tell("reload");
    notice(`${counted(ids.length, "picture")} removed.`);
  }
}
