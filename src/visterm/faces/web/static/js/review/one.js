// One picture large with a question below it: the queues "teach" and "errors".

import { ages, chance } from "../chips.js";
import { colours, counted, fill, h, percent, thumbnail } from "../dom.js";
import { post } from "../api.js";
import { give } from "../naming.js";
import { store } from "../store.js";
import { frame } from "./frame.js";
import { Queue } from "./queue.js";

const SIDE = 3;
const MOST_ENLARGED = 3;

/** A numbered answer. */
const option = (number, { name, probability }, pressed, run) =>
  h("button", { type: "button", class: "option", "aria-pressed": pressed === null ? null : String(pressed), onclick: run },
    h("kbd", {}, number), h("span", { class: "name" }, name), chance(probability));

const action = (key, text, run, kind = "") => h("button", { type: "button", class: kind, onclick: run }, text, " ", h("kbd", {}, key));

export class OneByOne {
  constructor(name, host) {
    this.host = host;
    this.queue = new Queue(name);
    this.stage = h("div", { class: "stage" });
    this.ask = h("div", { class: "ask" });
    this.side = h("ul", { class: "coming", "aria-label": "Next pictures" });
    this.body = h("div", { class: "one" }, this.stage, this.side, this.ask);
    this.element = frame(host, name === "teach" ? "Teach" : "Labels that look wrong", this.body, () => this.#left());
    this.chosen = new Set();
    this.queue.addEventListener("moved", () => this.show());
    this.queue.addEventListener("named", () => this.#name());
    this.queue.addEventListener("sent", () => host.learnedLater());
  }

  start() {
    fill(this.stage, h("p", { class: "soft waiting" }, "Choosing the most useful pictures."));
    return this.queue.refill();
  }

  #left() {
    const { left, answered } = this.queue;
    return [left === null ? "" : counted(left, "picture") + " left", answered ? `${answered} answered` : ""].filter(Boolean).join(", ");
  }

  show() {
    const { queue } = this;
    const question = queue.current;
    this.element.update();
    if (!question) {
      fill(this.side);
      fill(this.ask);
      if (queue.error) this.host.say(this.stage, "This did not work", queue.error, [["Try again", () => queue.refill()]]);
      else if (queue.ended) this.#finished();
      else fill(this.stage, h("p", { class: "soft waiting" }, "The next pictures are coming."));
      return;
    }
    if (question !== this.shown) {
      this.shown = question;
      this.chosen = new Set();
      this.#stage(question);
    }
    fill(this.side, queue.waiting.slice(1, 1 + SIDE).map((one) =>
      h("li", { style: { background: colours(one.colours) } }, h("img", { src: thumbnail(one.key), alt: "", draggable: "false" }))));
    fill(this.ask, queue.name === "teach" ? this.#teach(question) : this.#doubt(question));
  }

  #finished() {
    this.shown = null;
    const { answered } = this.queue;
    const teach = this.queue.name === "teach";
    this.host.say(this.stage, answered ? "That is all" : "Nothing to do here",
      answered ? `${counted(answered, "answer")} noted. When Visterm learns from them, the suggestions for all pictures get better.`
        : teach ? "Every picture has a label from a person or an import." : "No label of yours looks wrong.",
      [...(answered ? [["Learn from my labels", () => this.host.learn()]] : []), ["Back to review", () => this.host.leave()]]);
  }

  #stage(question) {
    const image = this.queue.picture(question);
    const { width, height } = question;
    const box = h("figure", {
      style: {
        width: `min(100cqw, calc(100cqh * ${width / height}), ${MOST_ENLARGED * width}px)`, aspectRatio: `${width} / ${height}`,
        background: colours(question.colours),
      },
    }, image);
    image.onerror = () => fill(box, h("p", { class: "waiting" }, "This picture cannot be shown. Skip it."));
    this.caption = h("p", { class: "stage-name soft" });
    fill(this.stage, h("div", { class: "light-table" }, box), this.caption);
    this.#name();
  }

  #name() {
    const known = this.shown && store.labels.get(this.shown.id);
    if (!known || !this.caption) return;
    const said = [known.class, ...known.tags].filter(Boolean).join(", ");
    this.caption.textContent = said ? `${known.name}: ${said}` : known.name;
    this.queue.picture(this.shown).alt = known.name;
  }

  // Teaching: which of the likely answers?

  #teach(question) {
    const several = question.labels[0]?.kind === "tag";
    const measures = question.queue === "measure";
    const all = several && measures;
    return [
      h("h1", {}, all ? "What is in this picture? Choose all that fits." : several ? "What is in this picture?" : "What is this?"),
      measures ? h("p", { class: "soft" }, "This picture was drawn at random: your answer also measures how good Visterm is.") : null,
      h("div", { class: "options" }, question.labels.map((one, i) => option(i + 1, one, several ? this.chosen.has(i) : null, () => this.choose(i + 1)))),
      h("div", { class: "actions" },
        several && (this.chosen.size || (all && this.#saidTags(question))) ? action("enter", "Next", () => this.accept(), "main") : null,
        several && !measures && this.chosen.size ? action("a", "That is all", () => this.accept(true)) : null,
        question.labels.length ? action("n", "None of these", () => this.none()) : null,
        action(several ? "t" : "c", several ? "Another tag" : "Another class", () => this.name(several ? "tag" : "class")),
        action("s", measures ? "I cannot tell" : "Skip", () => this.skip())),
      ages(this.queue.ages, question.labels)];
  }

  /** The tags that people gave to the picture of a question, if any. */
  #saidTags(question) {
    return store.labels.get(question.id)?.tags.length || 0;
  }

  /** Goes on without an answer; a picture drawn to measure is then never measured on. */
  skip() {
    const question = this.queue.current;
    if (question?.queue !== "measure") { this.queue.skip(); return; }
    const { id } = question;
    this.queue.answer(() => post("/review/skip", { id }), () => post("/review/skip", { id, skip: false }), false);
  }

  choose(number) {
    const question = this.queue.current;
    const one = question?.labels[number - 1];
    if (!one) return;
    if (this.queue.name === "teach" && one.kind === "tag") {
      if (!this.chosen.delete(number - 1)) this.chosen.add(number - 1);
      this.show();
      return;
    }
    this.queue.answer(() => post("/decisions", { decisions: [{ id: question.id, kind: one.kind, name: one.name, state: "accepted" }], answering: question.queue }));
  }

  /** Takes the chosen tags; if they are `all`, no other tag fits. */
  accept(all = false) {
    const question = this.queue.current;
    if (!question || this.queue.name !== "teach") return;
    const complete = all || question.queue === "measure";
    if (!this.chosen.size && !(complete && this.#saidTags(question))) return;
    const tags = [...this.chosen].map((i) => question.labels[i].name);
    this.queue.answer(() => post("/labels", { ids: [question.id], tags, complete, answering: question.queue }));
  }

  /** None of the answers that are shown fits: all are denied, in one step. */
  none() {
    const question = this.queue.current;
    if (!question?.labels.length || this.queue.name !== "teach") return;
    const decisions = question.labels.map(({ kind, name }) => ({ id: question.id, kind, name, state: "rejected" }));
    this.queue.answer(() => post("/decisions", { decisions, answering: question.queue }));
  }

  /** Asks for another name; only then does the next picture come, unless all tags of this one are asked for. */
  async name(kind) {
    const question = this.queue.current;
    if (!question) return;
    await this.queue.sent();
    const done = await give(kind, [question.id], { answering: question.queue });
    if (done && question.queue === "measure" && kind === "tag") {
      await store.need([question.id], { again: true });
      this.show();
    } else if (done && this.queue.current === question) this.queue.answer(() => Promise.resolve(done));
  }

  // Errors: is what people said right?

  #doubt(question) {
    const { asked, said } = question;
    const isClass = asked.kind === "class";
    return [
      h("h1", {}, isClass ? "It is labelled " : "It is tagged ", h("strong", {}, said), isClass ? ["; this looks like ", h("strong", {}, asked.name), ` (${percent(asked.probability)}).`]
        : `, but it does not look like it (${percent(asked.probability)} likely).`),
      h("div", { class: "actions large" },
        action("y", isClass ? `It is ${asked.name}` : `Remove ${said}`, () => this.yes(), "main"),
        action("n", `Keep ${said}`, () => this.no()),
        isClass ? action("c", "Another class", () => this.name("class")) : null,
        action("s", "Skip", () => this.queue.skip()))];
  }

  yes() {
    const question = this.queue.current;
    if (!question?.asked) return;
    const { id, asked, said } = question;
    this.queue.answer(() => (asked.kind === "class"
      ? post("/decisions", { decisions: [{ id, kind: "class", name: asked.name, state: "accepted" }], answering: "errors" })
      : post("/labels", { ids: [id], no_tags: [said], answering: "errors" })));
  }

  no() {
    const question = this.queue.current;
    if (!question?.asked) return;
    const kept = { id: question.id, kind: question.asked.kind, name: question.said };
    this.queue.answer(() => post("/review/keep", kept), () => post("/review/keep", { ...kept, keep: false }));
  }

  keys = {
    accept: (n) => this.choose(n),
    enter: () => this.accept(), a: () => this.accept(true),
    space: () => this.accept(),
    y: () => (this.queue.name === "errors" ? this.yes() : this.choose(1)), // yes to the likeliest answer
    n: () => (this.queue.name === "errors" ? this.no() : this.none()),
    s: () => this.skip(),
    c: () => { this.name("class"); },
    t: () => { this.name("tag"); },
    undo: () => this.host.undo(),
  };

  undo() {
    return this.queue.undo();
  }

  sent() {
    return this.queue.sent();
  }
}
