// The view of all pictures: facets, the grid, the selection.

import { counted, fill, h, percent, sentence } from "./dom.js";
import { FacetPanel } from "./facets.js";
import { Grid } from "./grid.js";
import { startJob } from "./jobs.js";
import { offers } from "./offers.js";
import { SelectionPanel } from "./selection.js";
import { go, listKey, narrowed, NO_FILTERS, read } from "./state.js";
import { store } from "./store.js";

const SORTS = { best: "Best match", newest: "Newest", name: "By name", unsure: "Least sure", date: "Date taken", rating: "Best rated", size: "Largest" };

export class PicturesView {
  constructor() {
    this.facets = new FacetPanel({ told: () => this.#count() });
    this.selection = new SelectionPanel();
    this.grid = new Grid({ opened: (i) => { if (store.list.ids[i]) go({ view: "picture", part: [String(store.list.ids[i])] }); } });
    this.count = h("h1", { class: "number" });
    this.changed = h("button", { type: "button", class: "quiet", hidden: true, title: "Labels were changed since this list was made", onclick: () => this.load({ again: true }) });
    this.legend = h("p", { class: "legend", "aria-hidden": "true" });
    this.several = h("button", { type: "button", class: "by-touch", "aria-pressed": "false", onclick: () => this.#several() }, "Select");
    this.notes = h("p", { class: "list-notes", role: "status" });
    this.offer = h("div", { class: "list-offer" });
    this.sort = h("select", { "aria-label": "Order", onchange: () => go({ sort: this.sort.value }) });
    this.bar = h("div", { class: "list-bar" },
      h("button", { type: "button", class: "narrow", onclick: () => this.facets.toggle() }, "Filter"),
      this.count, this.changed, this.legend, h("span", { class: "grow" }), this.several, this.sort, this.notes, this.offer);
    this.element = h("div", { class: "pictures-view" }, this.facets.element, this.bar, this.grid.element, this.selection.element);
    // The counts come after the first pictures: they are looked at later, and the server is asked for one thing at a time.
    this.heard = { collection: () => this.#offer(), list: () => { this.#told(); this.facets.refresh(); }, more: () => this.#told(), changed: () => this.facets.refresh(), reload: () => this.load({ again: true }) };
    for (const [name, f] of Object.entries(this.heard)) store.addEventListener(name, f);
    this.selection.refresh();
  }

  close() {
    this.grid.close();
    this.selection.close();
    for (const [name, f] of Object.entries(this.heard)) store.removeEventListener(name, f);
  }

  /** Shows the list that the address names. */
  async load({ again = false } = {}) {
    const state = read();
    const key = listKey(state);
    if (key === this.key && !again) return;
    this.key = key;
    const sort = state.sort || (state.q ? "best" : "newest");
    fill(this.sort, Object.entries(SORTS).filter(([value]) => value !== "best" || state.q)
      .map(([value, text]) => h("option", { value, selected: value === sort }, text)));
    this.sort.value = sort;
    if (!again) store.selected = new Set(); // the same list, read again, keeps what is selected
    if (!store.list.ids.length) this.count.textContent = "Loading";
    await store.load({ ...narrowed(state), sort }, state.q);
  }

  /** By touch, a tap takes a picture into the selection or out of it. */
  #several() {
    store.selecting = !store.selecting;
    this.several.setAttribute("aria-pressed", String(store.selecting));
    store.select([]);
  }

  /** How many pictures there are: as counted with the facets. A list that is open keeps its pictures until it is read again. */
  #count() {
    const { list } = store;
    const partial = list.understood?.partial;
    const listed = list.understood && !partial ? list.nLikely : list.total;
    const { total } = this.facets;
    this.changed.hidden = list.loading || total === null || total === listed;
    this.changed.textContent = `Now ${counted(total ?? 0, "picture")}: show`;
    if (partial) this.count.textContent = "No picture matches all words";
    else if (!list.understood || listed || total) this.count.textContent = counted(listed, "picture");
  }

  #explain(list) {
    const told = list.told.includes(true);
    const believed = list.told.includes(false);
    fill(this.legend, told ? [h("span", { class: "mark people" }, "by people"), " said so "] : null,
      believed ? [h("span", { class: "mark model" }, "%"), " the model’s guess"] : null);
  }

  #offer() {
    fill(this.offer, offers(read(), store.list));
  }

  #told() {
    const { list } = store;
    const state = read();
    this.#offer();
    const found = list.understood ? list.nLikely : list.total;
    this.count.textContent = counted(found, "picture");
    this.#count();
    this.#explain(list);
    const notes = (list.understood?.notes || []).map(sentence);
    if (list.understood?.partial) notes.unshift(`These come closest. Left out: ${list.understood.missing.join(", ")}.`);
    if (list.understood?.weak) notes.unshift("Nothing fits well. These fit a little.");
    if (list.understood?.read_as) notes.push(`Understood: ${list.understood.read_as}.`);
    this.notes.textContent = notes.join(" ");
    this.element.querySelector(".empty-state")?.remove();
    this.grid.element.hidden = this.sort.hidden = this.several.hidden = false;
    if (list.loading && !list.ids.length) return;
    if (list.error) this.#say("This did not work", list.error, [["Try again", () => this.load({ again: true })]]);
    else if (!list.total || (list.understood && !list.nLikely && !list.understood.partial && !list.ids.length)) this.#nothing(state, list);
    else if (list.understood && !list.nLikely && !list.understood.partial) {
      this.count.textContent = list.understood.guessed ? "Only guesses" : "Nothing found";
      const why = list.understood.guessed ? "No picture is known to match. These look most like it" : "No picture is likely to match. The closest are below";
      this.notes.textContent = [...notes, `${why}; the best has a probability of ${percent(list.understood.best)}.`].join(" ");
    }
  }

  #nothing(state, list) {
    const clear = () => go(NO_FILTERS);
    const isNarrowed = Object.keys(narrowed(state)).some((key) => narrowed(state)[key]?.length);
    if (state.q) {
      const unknown = list.understood?.unknown || [];
      const why = unknown.length ? `Nobody has used ${unknown.map((word) => `“${word}”`).join(" or ")} here, and no model knows it.` : "No picture matches, as far as people and models know.";
      this.#say("Nothing found", why, [...(isNarrowed ? [["Search all pictures", clear]] : []), ["Show all pictures", () => go({ q: null })]]);
    } else if (isNarrowed) {
      this.#say("No picture matches", "No picture in the collection meets all filters on the left.", [["Show all pictures", clear]]);
    } else {
      this.#say("No pictures yet", "Put pictures into the folder of this collection, then look for them.", [["Look for pictures", () => startJob("add")]]);
    }
  }

  #say(title, text, choices) {
    this.grid.element.hidden = this.sort.hidden = this.several.hidden = true;
    this.notes.textContent = "";
    this.bar.after(h("div", { class: "empty-state" }, h("h1", {}, title), h("p", {}, text),
      h("div", { class: "choices" }, choices.map(([label, run], i) => h("button", { type: "button", class: i ? "" : "main", onclick: run }, label)))));
  }
}
