// The names of the collection: tags and classes with their pictures and how well they are recognised; tidied here.

import { decided } from "./actions.js";
import { get, post } from "./api.js";
import { bar } from "./chips.js";
import { counted, fill, h, percent } from "./dom.js";
import { undo } from "./history.js";
import { dialog, notice, told } from "./notices.js";
import { address, NO_FILTERS } from "./state.js";
import { store } from "./store.js";

const CHUNK = 200; // rows that are added at a time, while the person scrolls
const KINDS = { tag: "Tags", class: "Classes" };
const ORDERS = {
  pictures: ["Pictures", (a, b) => b.n_accepted - a.n_accepted], name: ["Name", (a, b) => a.name.localeCompare(b.name)],
  suggested: ["Suggested", (a, b) => b.n_suggested - a.n_suggested], quality: ["Worst recognised", (a, b) => (a.quality ?? 2) - (b.quality ?? 2)],
};

export class NamesView {
  constructor() {
    this.kind = "tag";
    this.order = "pictures";
    this.chosen = new Set();
    this.filter = h("input", {
      type: "search", placeholder: "Filter", "aria-label": "Filter the names", autocomplete: "off", spellcheck: "false",
      oninput: () => this.#draw(),
    });
    this.kinds = h("div", { class: "kinds", role: "group", "aria-label": "Which names" });
    this.sort = h("select", { "aria-label": "Order", onchange: () => { this.order = this.sort.value; this.#draw(); } },
      Object.entries(ORDERS).map(([value, [text]]) => h("option", { value }, text)));
    this.count = h("h1", { class: "number" });
    this.work = h("div", { class: "actions" });
    this.proposals = h("div");
    this.rows = h("tbody");
    this.end = h("div", { "aria-hidden": "true" });
    this.recognised = h("th", { scope: "col" }, "Recognised");
    this.table = h("table", { class: "names" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, "Chosen")), h("th", { scope: "col" }, "Name"),
        h("th", { scope: "col" }, "Pictures"), h("th", { scope: "col" }, "Suggested"), this.recognised, h("th", { scope: "col" }, "Change"))),
      this.rows);
    this.element = h("div", { class: "names-view" },
      h("div", { class: "list-bar" }, this.kinds, this.count, this.filter, h("span", { class: "grow" }), this.sort), this.proposals, this.work, this.table, this.end);
    this.near = new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) this.#more(); }, { root: this.element, rootMargin: "600px" });
    this.near.observe(this.end);
    for (const name of ["changed", "collection"]) store.addEventListener(name, () => { if (!this.element.hidden && this.vocabulary) this.refresh(); });
    this.keys = { back: () => { if (!this.chosen.size) return false; this.chosen.clear(); this.#draw(); return true; } };
  }

  async show() {
    if (!this.vocabulary) this.count.textContent = "Loading";
    await this.refresh();
  }

  async refresh() {
    const [vocabulary, merges] = (await told(() => Promise.all([get("/vocabulary"), get("/vocabulary/merges", { kind: this.kind })]))) || [];
    if (!vocabulary) return;
    this.vocabulary = vocabulary;
    this.merges = merges.merges;
    const known = new Set(this.#terms().map(({ name }) => name));
    for (const name of this.chosen) if (!known.has(name)) this.chosen.delete(name);
    this.#draw();
  }

  #terms() {
    const { terms, quality } = this.vocabulary[this.kind];
    return terms.map((one) => ({ ...one, quality: quality[one.name] }));
  }

  #draw() {
    const wanted = this.filter.value.trim().toLowerCase();
    const terms = this.#terms();
    this.listed = terms.filter(({ name }) => name.toLowerCase().includes(wanted)).sort(ORDERS[this.order][1]);
    this.most = Math.max(1, ...terms.map((one) => one.n_accepted));
    this.recognised.textContent = this.kind === "class" ? "Rightly classified" : "Found by a search";
    fill(this.kinds, Object.entries(KINDS).map(([kind, text]) => h("button", {
      type: "button", "aria-pressed": String(this.kind === kind), onclick: () => { this.kind = kind; this.chosen.clear(); this.filter.value = ""; this.refresh(); },
    }, text)));
    this.count.textContent = wanted ? `${this.listed.length.toLocaleString("en")} of ${terms.length.toLocaleString("en")}` : counted(terms.length, KINDS[this.kind].toLowerCase().replace(/e?s$/, ""), KINDS[this.kind].toLowerCase());
    this.#propose();
    this.#offer();
    fill(this.rows);
    this.table.hidden = !this.listed.length;
    if (this.listed.length) this.#more();
  }

  #more() {
    if (!this.listed) return;
    const at = this.rows.childElementCount;
    this.rows.append(...this.listed.slice(at, at + CHUNK).map((one) => this.#row(one)));
  }

  #row({ name, n_accepted: pictures, n_suggested: suggested, quality }) {
    const to = (narrowed) => address({ ...NO_FILTERS, view: "pictures", part: [], q: null, sort: null, ...narrowed });
    return h("tr", {},
      h("td", {}, h("input", {
        type: "checkbox", "aria-label": `Choose ${name}`, checked: this.chosen.has(name),
        onchange: (event) => { if (event.target.checked) this.chosen.add(name); else this.chosen.delete(name); this.#offer(); },
      })),
      h("th", { scope: "row" }, h("a", { href: to(this.kind === "tag" ? { tag: [name] } : { class: name }) }, name)),
      h("td", { class: "number" }, bar(pictures / this.most), pictures.toLocaleString("en")),
      h("td", { class: "number" }, !suggested ? "" : this.kind === "tag" ? h("a", { href: address({ view: "review", part: ["tag", name] }) }, suggested.toLocaleString("en")) : suggested.toLocaleString("en")),
      h("td", { class: "number" }, quality === undefined ? h("span", { class: "soft" }, "not measured") : [bar(quality), percent(quality)]),
      h("td", {}, h("button", { type: "button", class: "quiet", "aria-label": `Rename ${name}`, onclick: () => this.#rename(name, pictures) }, "Rename"),
        h("button", { type: "button", class: "quiet", "aria-label": `Drop ${name}`, onclick: () => this.#drop([name]) }, "Drop")));
  }

  /** Forms of one word, to make one. */
  #propose() {
    const open = this.merges.slice(0, 5);
    fill(this.proposals, open.length ? h("section", { class: "proposals" }, h("h2", {}, "These look like forms of one word"),
      h("ul", {}, open.map(({ into, names }) => h("li", {}, h("span", {}, Object.entries(names).map(([name, n]) => `${name} (${n.toLocaleString("en")})`).join(", ")),
        h("button", { type: "button", onclick: () => this.#merge(Object.keys(names), into) }, `Make them ${into}`)))),
      this.merges.length > open.length ? h("p", { class: "soft" }, `and ${counted(this.merges.length - open.length, "other proposal")}`) : null) : null);
  }

  #offer() {
    const chosen = [...this.chosen];
    fill(this.work, chosen.length ? [
      chosen.length > 1 ? h("button", { type: "button", class: "main", onclick: () => this.#merge(chosen) }, `Make ${chosen.length} one`) : null,
      h("button", { type: "button", onclick: () => this.#drop(chosen) }, chosen.length > 1 ? `Drop ${chosen.length}` : `Drop ${chosen[0]}`),
      h("button", { type: "button", class: "quiet", onclick: () => { this.chosen.clear(); this.#draw(); } }, "Choose none ", h("kbd", {}, "esc"))] : null);
  }

  #pictures(names) {
    const all = new Map(this.#terms().map((one) => [one.name, one.n_accepted]));
    return names.reduce((sum, name) => sum + (all.get(name) ?? 0), 0);
  }

  async #rename(old, pictures) {
    const name = await dialog(`Rename ${old}`, (close) => {
      const input = h("input", { type: "text", value: old, maxlength: 200, "aria-label": "The new name", autofocus: true, spellcheck: "true" });
      return h("form", { onsubmit: (event) => { event.preventDefault(); close(input.value.trim()); } },
        h("p", { class: "soft" }, `${counted(pictures, "picture")} will have the new name. Later imports of “${old}” get it, too.`), h("div", { class: "field" }, input),
        h("div", { class: "choices" }, h("button", { type: "button", onclick: () => close() }, "Cancel"), h("button", { type: "submit", class: "main" }, "Rename")));
    });
    if (!name || name === old) return;
    if (this.#terms().some((one) => one.name === name)) await this.#merge([old, name], name);
    else await this.#do("/vocabulary/rename", { kind: this.kind, old, new: name });
  }

  async #merge(names, proposed = null) {
    const best = proposed ?? names.reduce((a, b) => (this.#pictures([b]) > this.#pictures([a]) ? b : a));
    const into = await dialog("Make them one", (close) => {
      const preview = h("p", { class: "soft", role: "status" });
      const tell = (name) => { preview.textContent = `Up to ${counted(this.#pictures(names.filter((one) => one !== name)), "picture")} become ${name}. You can undo this.`; };
      const choices = names.map((name) => h("label", {}, h("input", { type: "radio", name: "into", value: name, checked: name === best, onchange: () => tell(name) }),
        h("span", {}, name), h("span", { class: "soft number" }, counted(this.#pictures([name]), "picture"))));
      tell(best);
      return h("form", { onsubmit: (event) => { event.preventDefault(); close(new FormData(event.target).get("into")); } },
        h("fieldset", { class: "one-of" }, h("legend", {}, "Which name stays?"), choices), preview,
        h("div", { class: "choices" }, h("button", { type: "button", onclick: () => close() }, "Cancel"), h("button", { type: "submit", class: "main", autofocus: true }, "Make them one")));
    });
    if (into) await this.#do("/vocabulary/merge", { kind: this.kind, names: names.filter((name) => name !== into), into });
  }

  async #drop(names) {
    const sure = await dialog(`Drop ${names.length > 1 ? counted(names.length, "name") : names[0]}?`, (close) => [
      h("p", {}, `${counted(this.#pictures(names), "label")} of ${names.slice(0, 5).join(", ")}${names.length > 5 ? " and others" : ""} no longer count, and later imports leave them out. No file changes. You can undo this.`),
      h("div", { class: "choices" }, h("button", { type: "button", autofocus: true, onclick: () => close() }, "Cancel"), h("button", { type: "button", class: "main", onclick: () => close(true) }, "Drop"))]);
    if (sure) await this.#do("/vocabulary/drop", { kind: this.kind, names });
  }

  /** Sends an edit; what was chosen is done with. */
  async #do(path, body) {
    const answer = await told(() => post(path, body));
    if (!answer) return;
    decided(answer);
    this.chosen.clear();
    notice(`${answer.done[0].toUpperCase()}${answer.done.slice(1)}.`, { action: answer.action ? { label: "Undo", run: undo } : null });
    store.tell("reload");
    await this.refresh();
  }
}
