// One picture, large: zoom, next and previous in the list, its labels, why, look-alikes.

import { about, alikeStrip } from "./about.js";
import { get } from "./api.js";
import { fill, h, percent, sentence, thumbnail } from "./dom.js";
import { notice, told } from "./notices.js";
import { address, go, read } from "./state.js";
import { store } from "./store.js";

const ALIKE_MILLISECONDS = 350; // who leafs through pictures does not wait for look-alikes

export class Viewer {
  constructor() {
    this.image = h("img", {
      alt: "", draggable: "false", onclick: (event) => this.zoom(event), onload: () => this.#shown(true), onerror: () => this.#shown(false),
    });
    this.failed = h("p", { class: "failed", role: "status", hidden: true }, "This picture cannot be shown. Its file may be gone, or damaged.");
    this.stage = h("div", { class: "stage" }, this.image, this.failed,
      h("button", { type: "button", class: "back icon", "aria-label": "Back to the list", onclick: () => this.leave() }, "×"),
      h("button", { type: "button", class: "previous icon", "aria-label": "Previous picture", onclick: () => this.step(-1) }, "‹"),
      h("button", { type: "button", class: "next icon", "aria-label": "Next picture", onclick: () => this.step(1) }, "›"));
    this.reason = h("section", { class: "reason", role: "status", hidden: true });
    this.aside = h("aside", { "aria-label": "About this picture" });
    this.element = h("div", { class: "viewer", role: "region", "aria-label": "Picture", tabindex: "-1" }, this.stage, this.aside);
    this.heard = () => this.show(this.id, { again: true });
    store.addEventListener("changed", this.heard);
  }

  close() {
    store.removeEventListener("changed", this.heard);
    this.element.remove();
  }

  leave() {
    go({ view: "pictures", part: [] });
  }

  async show(id, { again = false } = {}) {
    this.id = id;
    const details = await told(() => get(`/pictures/${id}`));
    if (!details || this.id !== id) return;
    this.details = details;
    store.labels.set(id, { ...(store.labels.get(id) || { id, tags: [], class: null, name: details.name }), suggested_class: details.suggested_class, suggested_tags: details.suggested_tags });
    if (!again) {
      this.#clearWhy();
      this.stage.classList.remove("zoomed");
      this.image.src = thumbnail(details.key, "large");
      this.image.alt = details.name;
      this.element.focus({ preventScroll: true });
    }
    const alike = again && this.alike ? this.alike : (this.alike = h("div"));
    fill(this.aside, h("p", { class: "file-name" }, details.name), about(details, { why: (tag) => this.#why(tag), reason: this.reason }), alike);
    if (!again) {
      const next = store.list.keys[store.list.ids.indexOf(id) + 1];
      if (next) new Image().src = thumbnail(next, "large");
      setTimeout(async () => {
        if (this.id !== id || !alike.isConnected) return;
        const strip = await alikeStrip(id);
        if (strip && this.id === id) fill(alike, strip);
      }, ALIKE_MILLISECONDS);
    }
  }

  step(by) {
    const at = store.list.ids.indexOf(this.id);
    const next = store.list.ids[at + by];
    if (next === undefined) { notice(by > 0 ? "This is the last picture of the list." : "This is the first picture of the list."); return; }
    go({ view: "picture", part: [String(next)] }, { replace: true });
  }

  /** Shows the picture's own pixels around the point that was clicked, or all of it again. */
  zoom(event) {
    this.#clearCells();
    const { left, top, width, height } = this.image.getBoundingClientRect();
    const fit = Math.min(width / this.image.naturalWidth, height / this.image.naturalHeight);
    const at = (point, start, length, own) => ((point - start - (length - own * fit) / 2) / (own * fit)) || 0.5;
    const [x, y] = [at(event.clientX, left, width, this.image.naturalWidth), at(event.clientY, top, height, this.image.naturalHeight)];
    if (!this.stage.classList.toggle("zoomed") || !this.details) return;
    const { key, width: ownWidth, height: ownHeight } = this.details;
    Object.assign(this.image, { width: ownWidth, height: ownHeight }); // its place is right before its pixels come
    this.stage.scrollTo(x * ownWidth - this.stage.clientWidth / 2, y * ownHeight - this.stage.clientHeight / 2);
    const sharp = new Image();
    sharp.onload = () => { if (this.details?.key === key && this.stage.classList.contains("zoomed")) this.image.src = sharp.src; };
    sharp.src = thumbnail(key, "full");
  }

  #shown(well) {
    this.failed.hidden = well;
    this.image.hidden = !well;
  }

  #clearWhy() {
    this.#clearCells();
    this.reason.hidden = true;
  }

  #clearCells() {
    this.cells?.remove();
    this.cells = null;
  }

  /** What speaks for a tag, in words and with the picture that this one reminds of. */
  #say(tag, { where, shares, reminds_of: alike }) {
    fill(this.reason,
      h("h2", {}, `Why ${tag}?`),
      where ? h("p", {}, sentence(where), shares.length ? " These parts are bright in the picture." : "") : null,
      alike ? [h("p", {}, `The picture looks like this one (${percent(alike.score)} alike), which people tagged ${tag}:`),
        h("div", { class: "strip" }, h("a", { href: address({ ...read(), view: "picture", part: [String(alike.id)] }) },
          h("img", { src: thumbnail(alike.key), alt: alike.path, title: alike.path })))] : null,
      where || alike ? null : h("p", {}, "The model cannot say why."),
      h("div", { class: "actions" }, h("button", { type: "button", onclick: () => this.#clearWhy() }, "Hide")));
    this.reason.hidden = false;
  }

  async #why(tag) {
    const found = await told(() => get(`/pictures/${this.id}/why`, { word: tag }));
    if (!found) return;
    this.#clearWhy();
    this.#say(tag, found);
    this.reason.scrollIntoView({ block: "nearest" });
    if (!found.shares.length) return;
    const most = Math.max(...found.shares.flat());
    const box = this.#box();
    this.cells = h("div", {
      class: "why-cells",
      style: { ...box, gridTemplateColumns: `repeat(${found.shares[0].length}, 1fr)`, gridTemplateRows: `repeat(${found.shares.length}, 1fr)` },
    }, found.shares.flat().map((share) => h("i", { style: { opacity: String(Math.max(0, 0.75 * share / most)) } })));
    this.stage.append(this.cells);
  }

  /** Where the picture lies on the stage: it keeps its shape. */
  #box() {
    const { clientWidth: w, clientHeight: t } = this.stage;
    const scale = Math.min(w / this.image.naturalWidth, t / this.image.naturalHeight);
    const [width, height] = [this.image.naturalWidth * scale, this.image.naturalHeight * scale];
    return { left: `${(w - width) / 2}px`, top: `${(t - height) / 2}px`, width: `${width}px`, height: `${height}px` };
  }
}
