// The grid of pictures: only visible rows are in the document, however long the list is.

import { dragRange } from "./drag.js";
import { colours, h, percent, settled, thumbnail } from "./dom.js";
import { justify, rowAt, rowOf } from "./layout.js";
import { store } from "./store.js";

const GAP = 6;
const RULE = 44;
const BEYOND = 1.2; // screens above and below that are kept ready
const FILLER = 1.5; // the shape of pictures whose size has not come yet

export class Grid {
  /** `opened(index)` is called when a picture is to be shown large. */
  constructor({ opened }) {
    this.opened = opened;
    this.cells = new Map();
    this.here = 0;
    this.anchor = 0;
    this.space = h("div", { class: "grid-space" });
    this.rule = h("div", { class: "grid-rule", hidden: true });
    this.element = h("div", {
      class: "grid", role: "listbox", "aria-multiselectable": "true", "aria-label": "Pictures", tabindex: "0",
      onscroll: () => this.#plan(), onkeydown: (event) => this.#key(event),
    }, this.space);
    this.space.append(this.rule);
    this.space.addEventListener("click", (event) => this.#click(event));
    this.space.addEventListener("dblclick", (event) => { if (!store.selecting) this.#withIndex(event, (i) => this.opened(i)); });
    dragRange(this.element, {
      at: (x, y) => Number(document.elementFromPoint(x, y)?.closest(".cell")?.dataset.index ?? -1),
      begin: (i, event) => { this.anchor = i; this.kept = event.ctrlKey || event.metaKey ? [...store.selected] : []; },
      to: (i) => { this.#selectTo(i, this.kept); this.focus(i, { scroll: false }); },
    });
    this.size = new ResizeObserver(() => { this.lay(); if (store.selected.size) this.focus(this.here); });
    this.size.observe(this.element);
    this.askLabels = settled(() => store.need(this.#shown().map((i) => store.list.ids[i])), 80);
    this.heard = {
      list: () => { this.here = 0; this.anchor = 0; this.element.scrollTop = 0; this.#clear(); this.lay(); },
      more: () => this.lay(),
      selection: () => this.#mark(),
      labels: () => this.#caption(),
      stale: () => this.askLabels(),
      changed: () => this.#caption(),
    };
    for (const [name, f] of Object.entries(this.heard)) store.addEventListener(name, f);
  }

  close() {
    this.size.disconnect();
    for (const [name, f] of Object.entries(this.heard)) store.removeEventListener(name, f);
  }

  /** Computes all positions anew. */
  lay() {
    const width = this.element.clientWidth - 2 * parseFloat(getComputedStyle(this.element).paddingLeft);
    if (width <= 0) return;
    const { list } = store;
    const n = list.total;
    const lessFrom = list.understood && list.nLikely < n && list.probabilities.length ? list.nLikely : -1;
    const narrow = width < 480;
    this.plan = justify(n, (i) => (i < list.ids.length ? list.widths[i] / list.heights[i] : FILLER), {
      width, target: narrow ? width / 2 / 1.2 : 168, most: narrow ? 2 : Infinity, gap: GAP, ruleAt: lessFrom > 0 ? lessFrom : -1, ruleHeight: RULE,
    });
    this.space.style.height = `${this.plan.height}px`;
    this.rule.hidden = this.plan.ruleTop < 0;
    if (this.plan.ruleTop >= 0) {
      this.rule.style.top = `${this.plan.ruleTop}px`;
      this.rule.textContent = "less likely";
    }
    this.#clearStale();
    this.#show();
  }

  /** Scrolls so that picture `i` can be seen, and makes it the current one. */
  focus(i, { scroll = true } = {}) {
    if (!this.plan || !this.plan.n) return;
    this.here = Math.max(0, Math.min(i, this.plan.n - 1));
    if (scroll) {
      const row = rowOf(this.plan.firsts, this.here);
      const top = this.plan.tops[row];
      const bottom = top + this.plan.heights[row];
      const view = this.element;
      if (top < view.scrollTop) view.scrollTop = top - GAP;
      else if (bottom > view.scrollTop + view.clientHeight) view.scrollTop = bottom - view.clientHeight + GAP;
    }
    this.#show();
    this.#mark();
  }

  #plan() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.#show(); });
  }

  #span() {
    const view = this.element;
    const more = view.clientHeight * BEYOND;
    const first = rowAt(this.plan.tops, Math.max(0, view.scrollTop - more));
    const last = rowAt(this.plan.tops, view.scrollTop + view.clientHeight + more);
    const end = last + 1 < this.plan.firsts.length ? this.plan.firsts[last + 1] : this.plan.n;
    return [this.plan.firsts[first] ?? 0, end];
  }

  #inView(row) {
    const { scrollTop, clientHeight } = this.element;
    const top = this.plan.tops[row];
    return top < scrollTop + clientHeight && top + this.plan.heights[row] > scrollTop;
  }

  #shown() {
    return [...this.cells.keys()].filter((i) => i < store.list.ids.length);
  }

  #show() {
    if (!this.plan) return;
    const [from, to] = this.plan.n ? this.#span() : [0, 0];
    for (const [i, cell] of this.cells) {
      if (i < from || i >= to) { cell.remove(); this.cells.delete(i); }
    }
    const made = [];
    for (let i = from; i < to; i += 1) {
      if (!this.cells.has(i)) { const cell = this.#cell(i); this.cells.set(i, cell); made.push(cell); }
    }
    this.space.append(...made);
    if (made.length) { this.#mark(); this.#caption(); this.askLabels(); }
  }

  #cell(i) {
    const { list } = store;
    const row = rowOf(this.plan.firsts, i);
    const known = i < list.ids.length;
    const cell = h("div", {
      class: "cell", role: "option", "aria-selected": "false", "aria-label": `Picture ${i + 1}`, "aria-setsize": this.plan.n,
      "aria-posinset": i + 1, "data-index": i, id: `cell-${i}`,
      style: {
        left: `${this.plan.x[i]}px`, top: `${this.plan.tops[row]}px`,
        width: `${this.plan.widths[i]}px`, height: `${this.plan.heights[row]}px`,
        background: known ? colours(list.colours[i]) : "",
      },
    });
    if (!known) return cell;
    cell.dataset.known = "";
    const image = h("img", {
      fetchpriority: this.#inView(row) ? "high" : "low", src: thumbnail(list.keys[i]), alt: "", decoding: "async", draggable: "false",
    });
    image.addEventListener("load", () => { cell.style.background = ""; });
    image.addEventListener("error", () => image.replaceWith(h("div", { class: "failed" }, "This picture cannot be shown.")));
    cell.append(image, h("div", { class: "caption", "aria-hidden": "true" }));
    const p = list.probabilities[i];
    if (p !== undefined) {
      const less = i >= list.nLikely && !list.understood?.partial;
      cell.classList.toggle("less", less);
      if (list.understood?.partial) cell.append(h("span", { class: "mark part", "aria-hidden": "true" }, "in part"));
      else cell.append(list.told[i] ? h("span", { class: "mark people", "aria-hidden": "true" }, "by people")
        : h("span", { class: "mark model", "aria-hidden": "true" }, percent(p)));
    }
    return cell;
  }

  #clear() {
    for (const cell of this.cells.values()) cell.remove();
    this.cells.clear();
  }

  /** Moves the cells that are there; those that were made before their picture was known are made again. */
  #clearStale() {
    const n = store.list.ids.length;
    for (const [i, cell] of this.cells) {
      if (i >= this.plan.n || (i < n && !("known" in cell.dataset))) {
        cell.remove();
        this.cells.delete(i);
        continue;
      }
      const row = rowOf(this.plan.firsts, i);
      Object.assign(cell.style, {
        left: `${this.plan.x[i]}px`, top: `${this.plan.tops[row]}px`,
        width: `${this.plan.widths[i]}px`, height: `${this.plan.heights[row]}px`,
      });
    }
  }

  #mark() {
    const { ids } = store.list;
    for (const [i, cell] of this.cells) {
      cell.setAttribute("aria-selected", String(store.selected.has(ids[i])));
      cell.classList.toggle("here", i === this.here);
    }
    if (this.cells.has(this.here)) this.element.setAttribute("aria-activedescendant", `cell-${this.here}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  #caption() {
    for (const [i, cell] of this.cells) {
      const known = store.labels.get(store.list.ids[i]);
      const caption = cell.querySelector(".caption");
      if (!known || !caption) continue;
      const said = [known.class, ...known.tags].filter(Boolean).join(", ");
      const guessed = [known.suggested_class, ...known.suggested_tags].filter(Boolean).slice(0, 4)
        .map((one) => `${one.name} ${percent(one.probability)}`).join(", ");
      caption.replaceChildren(
        h("div", {}, said || known.name), guessed ? h("div", { class: "suggestion" }, guessed) : "");
      cell.querySelector("img")?.setAttribute("alt", said ? `${known.name}: ${said}` : known.name);
      const p = store.list.probabilities[i];
      const guess = store.list.understood?.model ? "the model thinks so, " : "a chance of ";  // looks need no model
      const some = store.list.understood?.partial && "only some of the words fit";
      const who = p !== undefined && (some || (store.list.told[i] ? "people say so" : guess + percent(p)));
      cell.setAttribute("aria-label", [known.name, who, said, guessed && `suggested: ${guessed}`].filter(Boolean).join(". "));
    }
  }

  #withIndex(event, f) {
    const cell = event.target.closest(".cell");
    if (cell) f(Number(cell.dataset.index));
  }

  #click(event) {
    this.#withIndex(event, (i) => {
      const id = store.list.ids[i];
      if (id === undefined) return;
      if (event.shiftKey) this.#selectTo(i);
      else if (event.ctrlKey || event.metaKey || store.selecting) { store.toggle(id); this.anchor = i; }
      else if (store.selected.size === 1 && store.selected.has(id) && matchMedia("(pointer: coarse)").matches) this.opened(i);
      else { store.select([id]); this.anchor = i; }
      this.focus(i, { scroll: false });
      this.element.focus({ preventScroll: true });
    });
  }

  #selectTo(i, others = []) {
    const [from, to] = [Math.min(this.anchor, i), Math.max(this.anchor, i)];
    store.select([...others, ...store.list.ids.slice(from, to + 1)]);
  }

  #key(event) {
    if (event.altKey || !this.plan?.n) return;
    const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const moves = {
      ArrowRight: 1, l: 1, ArrowLeft: -1, h: -1, ArrowDown: "down", j: "down", ArrowUp: "up", k: "up",
      Home: "first", End: "last", PageDown: "page", PageUp: "page back",
    };
    if (event.key === " ") {
      store.toggle(store.list.ids[this.here]);
      this.anchor = this.here;
    } else if (event.key === "Enter") {
      this.opened(this.here);
    } else if ((event.ctrlKey || event.metaKey) && letter === "a") {
      store.select(store.list.ids);
    } else if (letter in moves && !event.ctrlKey && !event.metaKey) {
      this.focus(this.#moved(moves[letter]));
      if (event.shiftKey) this.#selectTo(this.here);
      else { this.anchor = this.here; store.select([store.list.ids[this.here]].filter(Boolean)); }
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #moved(how) {
    if (typeof how === "number") return this.here + how;
    if (how === "first") return 0;
    if (how === "last") return this.plan.n - 1;
    const row = rowOf(this.plan.firsts, this.here);
    const middle = this.plan.x[this.here] + this.plan.widths[this.here] / 2;
    const rowsInView = Math.max(1, Math.floor(this.element.clientHeight / 180));
    const steps = { down: 1, up: -1, page: rowsInView, "page back": -rowsInView }[how];
    const target = Math.max(0, Math.min(this.plan.firsts.length - 1, row + steps));
    if (target === row) return how === "down" || how === "page" ? this.plan.n - 1 : 0;
    const end = this.plan.firsts[target + 1] ?? this.plan.n;
    let best = this.plan.firsts[target];
    for (let i = best; i < end; i += 1) {
      const distance = (j) => Math.abs(this.plan.x[j] + this.plan.widths[j] / 2 - middle);
      if (distance(i) < distance(best)) best = i;
    }
    return best;
  }
}
