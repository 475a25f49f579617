// What the page knows: the list, its labels, the selection. Views hear of changes by name.

import { decided } from "./actions.js";
import { get, post } from "./api.js";
import { fileName, idle } from "./dom.js";
import { notice, told } from "./notices.js";

const FIRST_PAGE = 300;
const NEXT_PAGES = 5000;
const MOST_ASKED = 1000; // labels, in one request

class Store extends EventTarget {
  collection = null;
  review = null;
  unlearned = null;
  quality = null;
  list = emptyList();
  labels = new Map();
  selected = new Set();
  selecting = false; // by touch: a tap adds a picture to the selection
  #asked = new Set();
  #loading = null;

  tell(name) {
    this.dispatchEvent(new Event(name));
  }

  async refreshCollection() {
    [this.collection, this.unlearned, this.quality] = await Promise.all(["/collection", "/learning", "/quality"].map((path) => get(path)));
    this.tell("collection");
  }

  /** What waits in review; null until it is known. */
  async refreshReview() {
    this.review = await get("/review");
    this.tell("review");
    return this.review;
  }

  /** Loads a list page by page; the first pictures show as soon as they are there. */
  async load(parameters, query) {
    this.#loading?.abort();
    const control = (this.#loading = new AbortController());
    const asked = { ...parameters, q: query };
    const list = emptyList();
    list.loading = true;
    let cursor;
    try {
      do {
        const page = await get("/pictures", { ...asked, cursor, limit: cursor ? NEXT_PAGES : FIRST_PAGE }, control.signal);
        list.total = page.total;
        list.understood = page.understood;
        list.nLikely = page.n_likely;
        for (const name of ["ids", "keys", "widths", "heights", "colours", "probabilities", "told"]) {
          for (const value of page[name]) list[name].push(value);
        }
        list.loading = page.next !== null;
        if (this.list !== list) {
          this.list = list;
          this.tell("list");
        } else {
          this.tell("more");
        }
        cursor = page.next;
        if (cursor) await idle();
      } while (cursor);
    } catch (error) {
      if (error.name === "AbortError") return;
      list.loading = false;
      list.error = error.message;
      this.list = list;
      this.tell("list");
    }
  }

  /** Asks for the labels of pictures that are not known yet, in one request. True if there was something to ask. */
  async need(ids, { again = false } = {}) {
    const missing = ids.filter((id) => again || (!this.labels.has(id) && !this.#asked.has(id))).slice(0, MOST_ASKED);
    if (!missing.length) return false;
    for (const id of missing) this.#asked.add(id);
    const answer = await told(() => get("/labels", { ids: missing.join(",") }));
    for (const id of missing) this.#asked.delete(id);
    if (!answer) return false;
    for (const one of answer.pictures) this.labels.set(one.id, { ...one, name: fileName(one.path) });
    this.tell("labels");
    return true;
  }

  forgetLabels() {
    const known = [...this.labels.keys()];
    this.labels.clear();
    this.tell("stale");
    return known;
  }

  /** Asks again for the labels that are known; of very many, for those of the selection and the last ones. */
  async refreshLabels() {
    const known = [...new Set([...this.selected, ...[...this.labels.keys()].reverse()])].filter((id) => this.labels.has(id));
    for (const id of known.slice(MOST_ASKED)) this.labels.delete(id);
    await this.need(known, { again: true });
    this.tell("stale");
  }

  select(ids) {
    this.selected = new Set(ids);
    this.tell("selection");
  }

  toggle(id) {
    if (!this.selected.delete(id)) this.selected.add(id);
    this.tell("selection");
  }

  /** Says something of pictures: {tags, no_tags, class, clear, new}. The answer, or false if it was not noted. */
  async label(ids, said) {
    return this.#change(ids, () => post("/labels", { ids, ...said }));
  }

  /** Accepts or rejects: [{id, kind, name, state}]. */
  async decide(decisions) {
    return this.#change([...new Set(decisions.map((one) => one.id))], () => post("/decisions", { decisions }));
  }

  async #change(ids, request) {
    let answer;
    try {
      answer = await request();
    } catch (error) {
      if (error.status !== 409) {
        notice(error.message, { bad: true });
        return false;
      }
      throw error;
    }
    decided(answer);
    await this.need(ids, { again: true });
    this.tell("changed");
    return answer;
  }
}

function emptyList() {
  return {
    total: 0, ids: [], keys: [], widths: [], heights: [], colours: [], probabilities: [], told: [], nLikely: 0,
    understood: null, loading: false, error: null,
  };
}

export const store = new Store();
