// One tag, many pictures: those around its threshold, yes or no with one key each.

import { decided } from "../actions.js";
import { get, post } from "../api.js";
import { colours, counted, fill, h, percent, thumbnail } from "../dom.js";
import { undoOnly } from "../history.js";
import { notice } from "../notices.js";
import { frame } from "./frame.js";

const PAGE = 24;
const WORDS = { yes: "yes", no: "no", skip: "skipped" };

export class OneTag {
  #skipped = [];
  #done = [];
  #chain = Promise.resolve();

  constructor(tag, host) {
    this.tag = tag;
    this.host = host;
    this.page = null;
    this.at = 0;
    this.wall = h("ul", { class: "candidates", "aria-label": `Pictures that may have the tag ${tag}` });
    this.all = h("button", { type: "button", class: "main", onclick: () => this.rest("yes") });
    this.none = h("button", { type: "button", onclick: () => this.rest("no") });
    this.on = h("button", { type: "button", onclick: () => this.next() }, "More ", h("kbd", {}, "enter"));
    this.help = h("p", { class: "soft wide" }, h("kbd", {}, "y"), " yes ", h("kbd", {}, "n"), " no ", h("kbd", {}, "s"), " skip ");
    this.six = h("button", { type: "button", onclick: () => host.open("six", tag) }, "Six at a time");
    this.bar = h("div", { class: "actions tag-bar" }, this.all, this.none, this.on, this.six, h("span", { class: "grow" }), this.help);
    this.element = frame(host, `Which of these show “${tag}”?`, h("div", { class: "many" }, this.wall, this.bar), () => (this.left === undefined ? "" : `${counted(this.left, "picture")} left`));
    this.wall.addEventListener("click", (event) => this.#click(event));
  }

  async start() {
    fill(this.wall, h("p", { class: "soft waiting" }, "Looking for the pictures that teach most."));
    this.bar.hidden = true;
    await this.#load();
  }

  async #load() {
    await this.#chain;
    let found;
    try {
      found = await get("/review/questions", { queue: "tag", tag: this.tag, without: this.#skipped.slice(0, 2000).join(","), limit: PAGE });
    } catch (error) {
      this.host.say(this.wall, "This did not work", error.message, [["Try again", () => this.start()], ["Back to review", () => this.host.leave()]]);
      return;
    }
    this.left = found.left;
    // The likeliest first, so that "yes" comes in a run.
    const questions = found.questions.sort((a, b) => b.asked.probability - a.asked.probability);
    this.page = { questions, answers: new Map() };
    this.at = 0;
    this.show();
  }

  show() {
    this.element.update();
    const { questions, answers } = this.page;
    this.bar.hidden = !questions.length;
    if (!questions.length) {
      this.host.say(this.wall, "That is all for this tag", `There is no picture left where ${this.tag} is in doubt.`,
        [["Another tag", () => this.host.leave()], ["Learn from my labels", () => this.host.learn()]]);
      return;
    }
    fill(this.wall, questions.map((one, i) => this.#cell(one, answers.get(one.id), i)));
    this.#mark();
  }

  #cell(question, answer, i) {
    const p = percent(question.asked.probability);
    return h("li", {
      "data-index": i, class: answer || "", "aria-label": `Picture ${i + 1}, ${p}${answer ? `, ${WORDS[answer]}` : ""}`,
      style: { background: colours(question.colours) },
    }, h("img", { src: thumbnail(question.key), alt: "", decoding: "async", draggable: "false" }),
    h("span", { class: "percent" }, p),
    h("span", { class: "verdict", "aria-hidden": "true" }, { yes: "✓", no: "✕", skip: "–" }[answer] || ""),
    h("span", { class: "both" },
      h("button", { type: "button", "data-answer": "yes", "aria-label": `Yes, picture ${i + 1}` }, "✓"),
      h("button", { type: "button", "data-answer": "no", "aria-label": `No, picture ${i + 1}` }, "✕")));
  }

  #mark() {
    const open = this.#open().length;
    [...this.wall.children].forEach((cell, i) => {
      cell.classList.toggle("here", i === this.at);
      cell.tabIndex = i === this.at ? 0 : -1;
      for (const button of cell.querySelectorAll("button")) button.tabIndex = cell.tabIndex;
    });
    this.wall.children[this.at]?.focus();
    fill(this.all, open === this.page.questions.length ? "Yes to all of these" : `Yes to the other ${open}`);
    fill(this.none, open === this.page.questions.length ? "No to all" : "No to the others");
    this.all.disabled = this.none.disabled = !open;
  }

  #open() {
    return this.page.questions.filter((one) => !this.page.answers.has(one.id));
  }

  #click(event) {
    const cell = event.target.closest("li");
    if (!cell) return;
    this.at = Number(cell.dataset.index);
    const { answer } = event.target.dataset;
    if (answer) this.answer(answer);
    else this.#mark();
  }

  answer(answer) {
    const question = this.page?.questions[this.at];
    if (question) this.#say([question], answer);
  }

  rest(answer) {
    this.#say(this.#open(), answer);
  }

  #say(questions, answer) {
    if (!questions.length) return;
    const { page } = this;
    const before = new Map(questions.map((one) => [one.id, page.answers.get(one.id)]));
    const entry = { page, at: this.at, before, answer, action: null, failed: false };
    for (const one of questions) page.answers.set(one.id, answer);
    this.#count(page);
    if (answer === "skip") {
      this.#skipped.unshift(...questions.map((one) => one.id));
    } else {
      const decisions = questions.map((one) => ({ id: one.id, kind: "tag", name: this.tag, state: answer === "yes" ? "accepted" : "rejected" }));
      this.#chain = this.#chain.then(() => post("/decisions", { decisions, answering: "tag" })).then((done) => {
        entry.action = done.action;
        decided(done);
        this.host.learnedLater();
      }, (error) => {
        entry.failed = true;
        this.#done = this.#done.filter((one) => one !== entry);
        this.#takeBack(entry);
        notice(`This was not noted: ${error.message}`, { bad: true });
      });
    }
    this.#done.push(entry);
    if (questions.length === 1) this.#onwards();
    this.show();
    if (!this.#open().length) this.next();
  }

  #count(page) {
    const decided = [...page.answers.values()].filter(Boolean).length;
    page.decided ??= 0;
    this.left = Math.max(0, this.left - (decided - page.decided));
    page.decided = decided;
  }

  /** To the next picture without an answer, or else the next. */
  #onwards() {
    const { questions, answers } = this.page;
    const next = questions.findIndex((one, i) => i > this.at && !answers.has(one.id));
    const any = questions.findIndex((one) => !answers.has(one.id));
    this.at = next >= 0 ? next : any >= 0 ? any : this.at;
  }

  async next() {
    const { page } = this;
    this.#skipped.unshift(...this.#open().map((one) => one.id));
    await this.#chain;
    if (this.page === page) await this.#load();
  }

  undo() {
    const entry = this.#done.pop();
    if (!entry) return false;
    this.#takeBack(entry);
    if (entry.answer !== "skip") {
      this.#chain = this.#chain.then(() => entry.failed || entry.action === null || undoOnly(entry.action))
        .then((done) => { if (!done) this.#stands(entry); this.host.learnedLater(); }, (error) => { this.#stands(entry); notice(error.message, { bad: true }); });
    }
    return true;
  }

  /** Resolves when all answers so far have been sent. */
  sent() {
    return this.#chain;
  }

  /** An answer that was not taken back holds as before. */
  #stands(entry) {
    for (const id of entry.before.keys()) entry.page.answers.set(id, entry.answer);
    this.#done.push(entry);
    this.#count(entry.page);
    this.show();
  }

  #takeBack({ page, at, before }) {
    for (const [id, answer] of before) {
      if (answer) page.answers.set(id, answer);
      else page.answers.delete(id);
    }
    this.#skipped = this.#skipped.filter((id) => !before.has(id));
    this.page = page;
    this.at = at;
    this.#count(page);
    this.show();
  }

  #move(by) {
    if (!this.page) return;
    this.at = Math.max(0, Math.min(this.page.questions.length - 1, this.at + by));
    this.#mark();
  }

  get #columns() {
    const [first, ...others] = this.wall.children;
    const wrapped = others.findIndex((cell) => cell.offsetTop > first.offsetTop);
    return wrapped < 0 ? others.length + 1 : wrapped + 1;
  }

  keys = {
    y: () => this.answer("yes"), n: () => this.answer("no"), s: () => this.answer("skip"),
    enter: () => { this.next(); }, undo: () => this.host.undo(),
    right: () => this.#move(1), l: () => this.#move(1), left: () => this.#move(-1), h: () => this.#move(-1),
    down: () => this.#move(this.#columns), j: () => this.#move(this.#columns),
    up: () => this.#move(-this.#columns), k: () => this.#move(-this.#columns),
  };
}
