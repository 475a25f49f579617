// A queue of questions. The next ones are ready before they are asked for; answers are sent in the background, in order.

import { decided } from "../actions.js";
import { get } from "../api.js";
import { h, thumbnail } from "../dom.js";
import { undoOnly } from "../history.js";
import { notice } from "../notices.js";
import { store } from "../store.js";

const LEAST_READY = 8;
const ASKED = 12;
const PRELOADED = 6;
const MOST_LEFT_OUT = 2000;

/** The pictures of a question. */
const idsOf = (one) => (one.pictures ?? [one]).map(({ id }) => id);

/** One picture can be asked about twice, for two labels. */
const keyOf = (one) => `${idsOf(one)} ${one.tag ?? one.asked?.kind ?? ""} ${one.said ?? ""}`;

export class Queue extends EventTarget {
  waiting = [];
  left = null;
  ages = [];
  error = null;
  answered = 0;
  #done = [];
  #skipped = [];
  #sending = new Set();
  #chain = Promise.resolve();
  #asking = null;
  #pictures = new Map();

  constructor(name, parameters = {}) {
    super();
    this.name = name;
    this.parameters = parameters;
  }

  get current() {
    return this.waiting[0] || null;
  }

  get ended() {
    return !this.waiting.length && this.left === 0 && !this.#asking;
  }

  #tell(name = "moved") {
    this.dispatchEvent(new Event(name));
  }

  /** Asks for more questions if few are left. */
  async refill() {
    if (this.#asking || this.waiting.length >= LEAST_READY) return;
    const without = [...this.waiting.flatMap(idsOf), ...this.#sending, ...this.#skipped].slice(0, MOST_LEFT_OUT);
    this.#asking = get("/review/questions", { queue: this.name, ...this.parameters, without: without.join(","), limit: ASKED });
    try {
      const found = await this.#asking;
      const gone = new Set([...this.#sending, ...this.#skipped]);
      const there = new Set(this.waiting.map(keyOf));
      const asked = found.six.length ? found.six : found.questions;
      const fresh = asked.filter((one) => !there.has(keyOf(one)) && !idsOf(one).some((id) => gone.has(id)));
      const measuring = new Set(found.measuring);
      for (const one of fresh) one.queue = measuring.has(one.id) ? "measure" : this.name;
      this.left = found.left - (asked.flatMap(idsOf).length - fresh.flatMap(idsOf).length) + this.waiting.flatMap(idsOf).length;
      this.waiting.push(...fresh);
      this.ages = found.ages;
      this.error = null;
      store.need(this.waiting.flatMap(idsOf)).then(() => this.#tell("named"));
    } catch (error) {
      this.error = error.message;
    }
    this.#asking = null;
    this.#preload();
    this.#tell();
  }

  /** A picture of a question, large if it is the only one; the next ones are loaded and decoded before they are shown. */
  picture({ id, key }, size = "large") {
    let image = this.#pictures.get(id);
    if (!image) {
      image = h("img", { src: thumbnail(key, size), alt: "", draggable: "false" });
      this.#pictures.set(id, image);
      image.decode().catch(() => {});
    }
    return image;
  }

  #preload() {
    const next = this.waiting.slice(0, PRELOADED);
    for (const one of next) {
      if (one.pictures) one.pictures.forEach((each) => this.picture(each, "small"));
      else this.picture(one);
    }
    const wanted = new Set(next.flatMap(idsOf));
    for (const id of this.#pictures.keys()) if (!wanted.has(id)) this.#pictures.delete(id);
  }

  /**
   * Goes on to the next question at once; `request` is sent in the background. `undo` takes it back (else its action is undone).
   * That nobody can tell is no answer: it does not count.
   */
  answer(request, undo = null, counts = true) {
    const question = this.#take();
    if (!question) return;
    const entry = { question, undo, answered: true, worth: counts ? 1 : 0, action: null, failed: false };
    this.#done.push(entry);
    for (const id of idsOf(question)) this.#sending.add(id);
    this.answered += entry.worth;
    this.#chain = this.#chain.then(request).then((done) => {
      entry.action = done?.action ?? null;
      decided(done);
      this.#tell("sent");
    }, (error) => {
      entry.failed = true;
      this.#done = this.#done.filter((one) => one !== entry);
      this.answered -= entry.worth;
      this.#bringBack(question, 1);
      notice(`This answer was not noted, so the picture comes again: ${error.message}`, { bad: true });
    }).finally(() => idsOf(question).forEach((id) => this.#sending.delete(id)));
    this.#next();
  }

  skip() {
    const question = this.#take();
    if (!question) return;
    this.#skipped.unshift(...idsOf(question));
    this.#done.push({ question, answered: false });
    this.#next();
  }

  /** Takes the last answer of this queue back; false if there is none. */
  undo() {
    const entry = this.#done.pop();
    if (!entry) return false;
    const back = new Set(idsOf(entry.question));
    this.#skipped = this.#skipped.filter((id) => !back.has(id));
    if (entry.answered) {
      this.answered -= entry.worth;
      this.#chain = this.#chain.then(() => this.#takeBack(entry))
        .then((done) => { if (!done) this.#stands(entry); this.#tell("sent"); }, (error) => { this.#stands(entry); notice(error.message, { bad: true }); });
    }
    this.#bringBack(entry.question, 0);
    return true;
  }

  /** True if the answer no longer holds. */
  async #takeBack(entry) {
    if (entry.failed) return true;
    if (entry.undo) return Boolean(await entry.undo());
    return entry.action === null || undoOnly(entry.action);
  }

  /** An answer that was not taken back holds as before. */
  #stands(entry) {
    const at = this.waiting.indexOf(entry.question);
    if (at >= 0) { this.waiting.splice(at, 1); this.left -= idsOf(entry.question).length; }
    this.answered += entry.worth;
    this.#done.push(entry);
    this.#next();
  }

  /** Resolves when all answers so far have been sent. */
  sent() {
    return this.#chain;
  }

  #take() {
    const question = this.waiting.shift() || null;
    if (question) this.left = Math.max(0, this.left - idsOf(question).length);
    return question;
  }

  #bringBack(question, at) {
    if (this.waiting.some((one) => keyOf(one) === keyOf(question))) return;
    this.waiting.splice(Math.min(at, this.waiting.length), 0, question);
    this.left += idsOf(question).length;
    this.#next();
  }

  #next() {
    this.#preload();
    this.#tell();
    this.refill();
  }
}
