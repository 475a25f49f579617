// How far to trust what is suggested, what would help most, and which labels look wrong; each leads to the work.

import { get } from "./api.js";
import { bar } from "./chips.js";
import { counted, fill, h, percent, sentence } from "./dom.js";
import { startJob } from "./jobs.js";
import { told } from "./notices.js";
import { address, NO_FILTERS } from "./state.js";
import { store } from "./store.js";

const WEAK = 12;
const TITLES = { classes: "Classes", tags: "Tags", search: "Search" };

export class QualityView {
  constructor() {
    this.element = h("div", { class: "quality-view" });
    for (const name of ["collection", "review", "reload"]) store.addEventListener(name, () => { if (!this.element.hidden && this.shown) this.show(); });
    this.keys = {};
  }

  async show() {
    if (!this.shown) fill(this.element, h("p", { class: "soft", role: "status" }, "Loading"));
    const [quality, { reports }] = (await told(() => Promise.all([get("/quality"), get("/reports")]))) || [null, {}];
    if (!quality) return;
    const used = await told(() => Promise.all(reports.filter((one) => one.in_use.length).map((one) => get(`/reports/${one.model}`))));
    if (!used) return;
    this.shown = true;
    fill(this.element, h("h1", {}, "How far to trust it"), quality.figures.length ? quality.figures.map(figure) : this.#none(),
      this.#unlearned(), weak(used), this.#wrong(), models(used));
  }

  #none() {
    return h("div", { class: "actions" }, h("p", {}, "There is no model yet, so nothing is suggested."),
      h("button", { type: "button", class: "main", onclick: () => startJob("train") }, "Learn from my labels"));
  }

  #unlearned() {
    const { labels = 0, seconds = 0 } = store.unlearned || {};
    if (!labels) return null;
    return h("section", {}, h("h2", {}, "Not learned yet"), h("div", { class: "actions" },
      h("p", {}, `${counted(labels, "label")} came since the models learned.`),
      h("button", { type: "button", class: "main", onclick: () => startJob("train") }, seconds ? `Learn now, about ${Math.ceil(seconds)} s` : "Learn now")));
  }

  #wrong() {
    const { review } = store;
    if (!review?.ready || !review.errors) return null;
    return h("section", {}, h("h2", {}, "Labels that look wrong"),
      h("p", {}, h("a", { href: address({ view: "review", part: ["errors"] }) }, `Check ${counted(review.errors, "label")}`), ". One answer corrects or confirms each."));
  }
}

/** A figure in words, and its interval as a line with the mark of guessing. */
function figure(one) {
  const at = (share) => ({ left: `${100 * share}%` });
  return h("section", { class: "figure-card" }, h("h2", {}, TITLES[one.what] || one.what), h("p", { class: "number" }, sentence(one.words)),
    one.value === null ? null : h("div", { class: "interval", "aria-hidden": "true" },
      h("i", { class: "range", style: { left: `${100 * one.low}%`, width: `${100 * (one.high - one.low)}%` } }),
      one.baseline === null ? null : h("i", { class: "guessing", title: "guessing", style: at(one.baseline) }), h("i", { class: "value", style: at(one.value) })));
}

/** The names where pictures times what is missing is largest: more labels help there most. */
function weak(reports) {
  const names = reports.flatMap((one) => one.names.filter(({ quality, pictures }) => quality !== null && pictures))
    .map((one) => ({ ...one, lost: one.pictures * (1 - one.quality) })).filter((one) => one.lost >= 0.5).sort((a, b) => b.lost - a.lost);
  if (!names.length) return null;
  const where = ({ kind, name }) => (kind === "tag" ? address({ view: "review", part: ["tag", name] }) : address({ ...NO_FILTERS, view: "pictures", part: [], q: null, sort: "unsure", class: name }));
  return h("section", {}, h("h2", {}, "Where more labels help most"), h("table", { class: "names" },
    h("thead", {}, h("tr", {}, ["Name", "Learned from", "Recognised"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, names.slice(0, WEAK).map((one) => h("tr", {}, h("th", { scope: "row" }, h("a", { href: where(one) }, one.kind === "class" ? `class ${one.name}` : one.name)),
      h("td", { class: "number" }, counted(one.pictures, "picture")), h("td", { class: "number" }, bar(one.quality), percent(one.quality)))))));
}

const models = (reports) => reports.length ? h("section", {}, h("h2", {}, "The models in use"), reports.map((one) => [
  h("p", {}, `${one.model}: ${one.method} on ${one.recipe}, learned on ${new Date(one.made).toLocaleString()} from ${[
    one.pictures_with_class && `${counted(one.pictures_with_class, "picture")} with a class`, one.pictures_with_tags && `${counted(one.pictures_with_tags, "picture")} with tags`,
  ].filter(Boolean).join(" and ")}.`),
  one.doubts.map((text) => h("p", { class: "doubt" }, sentence(text)))])) : null;
