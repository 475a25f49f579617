// Which of these six have a tag? Those that are not marked do not: two keys or more answer for six pictures.

import { post } from "../api.js";
import { colours, fill, h, percent } from "../dom.js";
import { frame } from "./frame.js";
import { action } from "./one.js";
import { Queue } from "./queue.js";

export class Six {
  constructor(tag, host) {
    this.host = host;
    this.queue = new Queue("six", tag ? { tag } : {});
    this.title = h("h1");
    this.wall = h("ul", { class: "wall six" });
    this.help = h("p", { class: "soft" });
    this.bar = h("div", { class: "actions" });
    this.element = frame(host, "Six at a time", h("div", { class: "many" }, h("div", { class: "asking" }, this.title, this.help), this.wall, this.bar), () => this.#left());
    this.queue.addEventListener("moved", () => this.show());
    this.queue.addEventListener("sent", () => host.learnedLater());
  }

  start() {
    this.#say("Looking for the pictures that teach most.");
    return this.queue.refill();
  }

  #left() {
    const { left, answered } = this.queue;
    return [left === null ? "" : `${left.toLocaleString("en")} to decide`, answered ? `${answered} answered` : ""].filter(Boolean).join(", ");
  }

  #say(text) {
    fill(this.title);
    fill(this.help);
    fill(this.bar);
    fill(this.wall, h("li", { class: "soft waiting" }, text));
  }

  show() {
    const { queue } = this;
    const question = queue.current;
    this.element.update();
    if (!question) {
      this.shown = null;
      this.#say("The next pictures are coming.");
      if (queue.error) this.host.say(this.wall, "This did not work", queue.error, [["Try again", () => queue.refill()], ["Back to review", () => this.host.leave()]]);
      else if (queue.ended) this.host.say(this.wall, "That is all", "There is no picture left where a tag is in doubt.", [["Back to review", () => this.host.leave()], ["Learn from my labels", () => this.host.learn()]]);
      return;
    }
    if (question !== this.shown) {
      this.shown = question;
      this.marked = new Set();
      fill(this.title, "Which of these have the tag ", h("strong", {}, question.tag), "?");
      fill(this.help, "A picture that you do not mark is noted as not having this tag. Nothing is said of its other tags.");
      fill(this.wall, question.pictures.map((one, i) => this.#cell(one, i)));
      this.wall.setAttribute("aria-label", `Pictures that may have the tag ${question.tag}`);
    }
    this.#mark();
  }

  #cell(one, i) {
    return h("li", {}, h("button", {
      type: "button", style: { background: colours(one.colours) },
      onclick: (event) => { this.toggle(i + 1); if (event.detail) event.currentTarget.blur(); }, // so that enter goes on
    }, this.queue.picture(one, "small"), h("kbd", {}, i + 1), h("span", { class: "percent" }, percent(one.asked.probability))));
  }

  #mark() {
    const { pictures, tag } = this.shown;
    const n = this.marked.size;
    [...this.wall.querySelectorAll("button")].forEach((button, i) => {
      const marked = this.marked.has(pictures[i].id);
      button.setAttribute("aria-pressed", String(marked));
      button.setAttribute("aria-label", `Picture ${i + 1}, ${percent(pictures[i].asked.probability)}${marked ? `, has the tag ${tag}` : ""}`);
    });
    fill(this.bar,
      action("enter", n === pictures.length ? "All of these" : n ? `These ${n}, not the other ${pictures.length - n}` : "None of these", () => this.answer(), "main"),
      n < pictures.length ? action("a", "Mark all", () => this.all()) : null,
      action("s", "Skip", () => this.queue.skip()));
  }

  toggle(number) {
    const one = this.shown?.pictures[number - 1];
    if (!one) return;
    if (!this.marked.delete(one.id)) this.marked.add(one.id);
    this.#mark();
  }

  all() {
    if (!this.shown) return;
    this.marked = new Set(this.shown.pictures.map((one) => one.id));
    this.#mark();
  }

  answer() {
    if (!this.shown) return;
    const { marked, shown: { pictures, tag } } = this;
    const decisions = pictures.map(({ id }) => ({ id, kind: "tag", name: tag, state: marked.has(id) ? "accepted" : "rejected" }));
    this.queue.answer(() => post("/decisions", { decisions, answering: "six" }));
  }

  keys = {
    accept: (n) => this.toggle(n), enter: () => this.answer(), space: () => this.answer(),
    a: () => this.all(), s: () => this.queue.skip(), undo: () => this.host.undo(),
  };

  undo() {
    return this.queue.undo();
  }

  /** Resolves when all answers so far have been sent. */
  sent() {
    return this.queue.sent();
  }
}
