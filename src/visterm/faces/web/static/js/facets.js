// What narrows the list down, with counts.

import { get } from "./api.js";
import { counted, fill, h } from "./dom.js";
import { told } from "./notices.js";
import { go, narrowed, NO_FILTERS, read } from "./state.js";

const WORDS = {
  person: "a person", import: "an import", model: "only a model", nobody: "nobody",
  suggested: "with suggestions", accepted: "labelled", rejected: "with rejections", unlabelled: "not labelled",
};
const SHOWN = 12;

/** Lists with the same pictures, in whatever order, have the same counts. */
const countedKey = (state) => JSON.stringify([narrowed(state), state.q]);

export class FacetPanel {
  /** `told()` is called when the counts of a list are known. */
  constructor({ told: heard }) {
    this.heard = heard;
    this.element = h("nav", { class: "side facets", "aria-label": "Narrow down" });
    this.more = new Set();
  }

  /** On a narrow screen the panel slides over the pictures. */
  toggle(open = !this.isOpen) {
    this.element.classList.toggle("open", open);
    if (open) this.element.querySelector("button")?.focus();
  }

  get isOpen() {
    return this.element.classList.contains("open");
  }

  async refresh() {
    const state = read();
    const found = await told(() => get("/facets", { ...narrowed(state), q: state.q }));
    if (!found) return;
    this.found = found;
    this.of = countedKey(state);
    this.#show(state);
    this.heard();
  }

  /** How many pictures the list of the address has now; null until it is known. */
  get total() {
    return this.found && this.of === countedKey(read()) ? this.found.total : null;
  }

  #show(state) {
    const { found } = this;
    const isNarrowed = Object.values(narrowed(state)).some((value) => value?.length);
    const one = (key, title, counts, named = (value) => value) => this.#facet(state, key, title, counts, named);
    fill(this.element,
      h("button", { type: "button", class: "sheet-close quiet narrow", onclick: () => this.toggle(false) }, "Close"),
      isNarrowed ? h("button", { type: "button", class: "clear-filters", onclick: () => go(NO_FILTERS) }, "Clear filters") : null,
      one("state", "Show", found.states, (value) => WORDS[value]),
      one("class", "Class", found.classes),
      one("tag", "Tag", found.tags),
      one("suggested", "Suggested tag", found.suggested),
      one("by", "Who said so", found.by, (value) => WORDS[value]),
      found.folders.length > 1 || state.folder !== null ? one("folder", "Folder", found.folders, (value) => value || "(here)") : null,
      this.#asked(state, "date", "Taken", found.months),
      this.#asked(state, "place", "Country", found.countries),
      this.#asked(state, "place", "Town", found.towns),
      this.#asked(state, "camera", "Camera", found.cameras),
      this.#asked(state, "rating", "Rating", found.ratings, (value) => (value === "-1" ? "rejected" : "★".repeat(Number(value)))),
      found.unreadable ? h("p", { class: "facet soft" }, `${counted(found.unreadable, "file")} cannot be read: see 'visterm status'.`) : null,
      found.total ? null : h("p", { class: "facet soft" }, "No picture is in this list."));
  }

  /** What files say is asked for in words: a choice adds its words to the search, or takes them out. */
  #asked(state, field, title, counts, named = (value) => value) {
    const words = (value) => `${field}:${/\s/.test(value) ? `"${value}"` : value}`;
    const asked = state.q || "";
    const chosen = counts.filter(({ value }) => ` ${asked} `.includes(` ${words(value)} `)).map(({ value }) => value);
    return this.#listed(title, counts, chosen, named, (value, on) => {
      const q = on ? ` ${asked} `.replace(` ${words(value)} `, " ").trim() : `${asked} ${words(value)}`.trim();
      go({ q: q || null });
    });
  }

  #facet(state, key, title, counts, named) {
    const chosen = [state[key]].flat().filter((value) => value !== null);
    const listed = counts.filter((count) => count.pictures || chosen.includes(count.value));
    for (const value of chosen) if (!listed.some((count) => count.value === value)) listed.unshift({ value, pictures: 0 });
    return this.#listed(title, listed, chosen, named, (value, on) => this.#choose(key, value, on));
  }

  #listed(title, listed, chosen, named, choose) {
    if (!listed.length) return null;
    listed.sort((a, b) => chosen.includes(b.value) - chosen.includes(a.value));
    const all = this.more.has(title);
    const shown = all ? listed : listed.slice(0, SHOWN);
    return h("section", { class: "facet" },
      h("h2", {}, title),
      shown.map(({ value, pictures }) => {
        const on = chosen.includes(value);
        return h("button", {
          type: "button", "aria-pressed": String(on), title: named(value), onclick: () => choose(value, on),
        }, h("span", {}, named(value)), h("span", { class: "number" }, pictures.toLocaleString("en")));
      }),
      listed.length > SHOWN
        ? h("button", { type: "button", class: "soft", onclick: () => { if (!this.more.delete(title)) this.more.add(title); this.#show(read()); } },
          h("span", {}, all ? "fewer" : `${listed.length - SHOWN} more`))
        : null);
  }

  #choose(key, value, on) {
    const state = read();
    if (key === "tag") go({ tag: on ? state.tag.filter((tag) => tag !== value) : [...state.tag, value] });
    else go({ [key]: on ? null : value });
  }
}
