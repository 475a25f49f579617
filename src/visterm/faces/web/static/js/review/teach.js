// Teach: the class of a picture, its tags, or both in one question.

import { decided } from "../actions.js";
import { ages, chance } from "../chips.js";
import { post } from "../api.js";
import { h } from "../dom.js";
import { undoOnly } from "../history.js";
import { give } from "../naming.js";
import { notice } from "../notices.js";
import { store } from "../store.js";
import { OneByOne, action } from "./one.js";

const WORDS = { class: "Class", tag: "Tags" };

/** An answer with its number; in the part of the question that the keys do not go to, the number is away. */
const option = (number, here, { name, probability }, pressed, run) =>
  h("button", { type: "button", class: "option", "aria-pressed": pressed === null ? null : String(pressed), onclick: run },
    h("kbd", { class: here ? null : "away" }, number), h("span", { class: "name" }, name), chance(probability));

export class Teach extends OneByOne {
  /** With the queue "measure", only measuring questions are asked. */
  constructor(host, name = "teach") {
    super(host, name === "measure" ? { name, title: "Measure", nothing: "Every picture has an answer, or you could not tell." }
      : { name, title: "Teach", nothing: "Every picture has a label from a person or an import." });
  }

  begin(question) {
    this.parts = ["class", "tag"].filter((kind) => question.labels.some((one) => one.kind === kind));
    if (!this.parts.length) this.parts = this.host.state?.asked ?? ["class"];
    this.#clear();
    this.typed = []; // names that were typed are noted at once: their actions
  }

  #clear() {
    this.chosen = { class: null, tags: new Set() };
    [this.part] = this.parts;
  }

  /** One key answers a question about a class alone. */
  get #quick() {
    return this.parts.length === 1 && this.parts[0] === "class";
  }

  get #both() {
    return this.parts.length === 2;
  }

  #of(question, kind) {
    return question.labels.filter((one) => one.kind === kind);
  }

  /** What people have said of the picture, such as a name that was typed. */
  #said(question) {
    return store.labels.get(question.id) || { class: null, tags: [] };
  }

  /** Whether tags, and if it is asked for a class, are there: then the answer can be complete. */
  #canEnd(question) {
    const said = this.#said(question);
    const classed = question.queue !== "measure" || !this.parts.includes("class") || this.chosen.class || said.class;
    return this.parts.includes("tag") && Boolean(classed) && this.chosen.tags.size + said.tags.length > 0;
  }

  get #anything() {
    return Boolean(this.chosen.class || this.chosen.tags.size || this.typed.length);
  }

  questionOf(question) {
    const measures = question.queue === "measure";
    const tags = this.parts.includes("tag");
    const asks = this.#both ? "What is this, and what is in it?" : tags ? "What is in this picture?" : "What is this?";
    const others = this.#asksTags && this.chosen.tags.size ? "None of the others" : "None of these";
    return [
      h("h1", {}, measures && tags ? `${asks} Choose all that fits.` : asks),
      measures ? h("p", { class: "soft" }, "This picture was drawn at random: your answer also measures how good Visterm is.") : null,
      h("div", { class: this.#both ? "parts two" : "parts" }, this.parts.map((part) => this.#options(question, part))),
      h("div", { class: "actions" },
        this.#canEnd(question) ? action(measures ? "enter" : "a", "That is all", () => this.finish(true), "main") : null,
        tags && !measures && this.#anything ? action("enter", "Next", () => this.finish()) : null,
        question.labels.length && !(measures && this.chosen.tags.size) ? action("n", others, () => this.none()) : null,
        this.parts.map((part) => (part === "class" ? action("c", "Another class", () => this.name("class")) : action("t", "Another tag", () => this.name("tag")))),
        action("s", measures ? "I cannot tell" : "Skip", () => this.skip())),
      ages(this.queue.ages, question.labels)];
  }

  #options(question, part) {
    const said = this.#said(question);
    const own = part === "class" ? [said.class].filter(Boolean) : said.tags;
    const pressed = ({ name }) => (this.#quick ? null : part === "class" ? this.chosen.class === name : this.chosen.tags.has(name));
    return h("div", { class: "options", role: "group", "aria-label": WORDS[part], "data-part": part },
      this.#both ? h("span", { class: "part soft" }, WORDS[part]) : null,
      own.map((name) => h("span", { class: "label" }, h("span", { class: "name" }, name))),
      this.#of(question, part).map((one, i) => option(i + 1, part === this.part, one, pressed(one), () => this.choose(i + 1, part))));
  }

  /** A part that a small screen does not show as a whole stays where it was, unless the keys go to another one. */
  show() {
    const before = this.ask.querySelector(".parts");
    const [at, asked] = [before?.scrollTop ?? 0, this.shown];
    super.show();
    const now = this.ask.querySelector(".parts");
    if (!now) return;
    if (this.shown === asked && this.part === this.seen) now.scrollTop = at;
    else if (this.shown === asked) now.scrollTop = now.querySelector(`[data-part="${this.part}"]`).offsetTop - now.offsetTop;
    this.seen = this.part;
  }

  /** Goes to the class or the tags of the question with the keys. */
  #go(part) {
    if (!this.#both || !this.queue.current) return;
    this.part = part;
    this.show();
  }

  choose(number, part = this.part) {
    const question = this.queue.current;
    const one = question && this.#of(question, part)[number - 1];
    if (!one) return;
    const { name } = one;
    if (this.#quick) {
      this.#answer(() => post("/decisions", { decisions: [{ id: question.id, kind: "class", name, state: "accepted" }], answering: question.queue }));
      return;
    }
    if (part === "class") {
      this.chosen.class = this.chosen.class === name ? null : name;
      if (this.chosen.class) this.part = "tag";
    } else {
      if (!this.chosen.tags.delete(name)) this.chosen.tags.add(name);
      this.part = "tag";
    }
    this.show();
  }

  /** Takes what was chosen; if that is `all`, no other tag fits. */
  finish(all = false) {
    const question = this.queue.current;
    if (!question || this.#quick) return;
    const complete = all || question.queue === "measure";
    if (complete ? !this.#canEnd(question) : !this.#anything) return;
    const { class: name, tags } = this.chosen;
    const said = { ids: [question.id], ...(name ? { class: name } : {}), tags: [...tags], complete, answering: question.queue };
    this.#answer(() => (name || tags.size || complete ? post("/labels", said) : Promise.resolve(null)));
  }

  /** Whether "none of these" is about tags. */
  get #asksTags() {
    return this.part === "tag" || (this.#both && this.chosen.class !== null);
  }

  /** None of the other answers that are shown fits: they are denied, in one step with what was chosen. */
  none() {
    const question = this.queue.current;
    if (!question?.labels.length) return;
    if (question.queue === "measure" && this.chosen.tags.size) return; // all that fits was asked for
    const part = this.#asksTags ? "tag" : "class";
    const taken = (one) => (one.kind === "class" ? one.name === this.chosen.class : this.chosen.tags.has(one.name));
    const decisions = question.labels.filter((one) => taken(one) || one.kind === part)
      .map((one) => ({ id: question.id, kind: one.kind, name: one.name, state: taken(one) ? "accepted" : "rejected" }));
    this.#answer(() => post("/decisions", { decisions, answering: question.queue }));
  }

  /** Goes on without an answer; a picture drawn to measure is then never measured on. */
  skip() {
    const question = this.queue.current;
    if (!question) return;
    const { id } = question;
    if (question.queue === "measure") this.queue.answer(() => post("/review/skip", { id }), () => post("/review/skip", { id, skip: false }), false);
    else if (this.typed.length) this.#answer(() => Promise.resolve(null));
    else this.queue.skip();
  }

  /** Sends an answer; names that were typed before are a part of it, so that all is undone together. */
  #answer(request) {
    const { typed } = this;
    let last = null;
    const undo = async () => {
      for (const one of [...typed, ...(last === null ? [] : [last])].reverse()) if (!(await undoOnly(one))) return false;
      return true;
    };
    this.queue.answer(async () => {
      const done = await request();
      last = done?.action ?? null;
      return done;
    }, typed.length ? undo : null);
  }

  /** Asks for another name. It is noted at once; the next picture comes if only a class was asked for. */
  async name(kind) {
    const question = this.queue.current;
    if (!question) return;
    await this.queue.sent();
    const done = await give(kind, [question.id], { answering: question.queue });
    if (!done || this.queue.current !== question) return;
    if (this.#quick && kind === "class") {
      this.#answer(() => Promise.resolve(done));
      return;
    }
    decided(done);
    if (done.action) this.typed.push(done.action);
    if (kind === "class") this.chosen.class = null;
    await this.#again(question);
    if (kind === "class") this.#go("tag");
  }

  async #again(question) {
    await store.need([question.id], { again: true });
    if (this.queue.current === question) this.show();
  }

  /** Takes back what was chosen for this picture; else a name that was typed; else the last answer. */
  undo() {
    const question = this.queue.current;
    if (question && (this.chosen.class || this.chosen.tags.size)) {
      this.#clear();
      this.show();
      return true;
    }
    if (!question || !this.typed.length) return super.undo();
    const one = this.typed.pop();
    undoOnly(one).then((done) => { if (!done) this.typed.push(one); return this.#again(question); }, (error) => { this.typed.push(one); notice(error.message, { bad: true }); });
    return true;
  }

  keys = {
    accept: (n) => this.choose(n), y: () => this.choose(1), // yes to the likeliest answer
    enter: () => this.finish(), space: () => this.finish(), a: () => this.finish(true), n: () => this.none(), s: () => this.skip(),
    up: () => this.#go("class"), k: () => this.#go("class"), down: () => this.#go("tag"), j: () => this.#go("tag"),
    c: () => { this.name("class"); }, t: () => { this.name("tag"); }, undo: () => this.host.undo(),
  };
}
