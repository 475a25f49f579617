// Labels that look wrong: is what people said right?

import { h, percent } from "../dom.js";
import { post } from "../api.js";
import { give } from "../naming.js";
import { OneByOne, action } from "./one.js";

export class Check extends OneByOne {
  constructor(host) {
    super(host, { name: "errors", title: "Labels that look wrong", nothing: "No label of yours looks wrong." });
  }

  begin() {}

  questionOf({ asked, said }) {
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
    if (!question) return;
    const { id, asked, said } = question;
    this.queue.answer(() => (asked.kind === "class"
      ? post("/decisions", { decisions: [{ id, kind: "class", name: asked.name, state: "accepted" }], answering: "errors" })
      : post("/labels", { ids: [id], no_tags: [said], answering: "errors" })));
  }

  no() {
    const question = this.queue.current;
    if (!question) return;
    const kept = { id: question.id, kind: question.asked.kind, name: question.said };
    this.queue.answer(() => post("/review/keep", kept), () => post("/review/keep", { ...kept, keep: false }));
  }

  /** Asks for another name; only then does the next picture come. */
  async name(kind) {
    const question = this.queue.current;
    if (!question) return;
    await this.queue.sent();
    const done = await give(kind, [question.id], { answering: "errors" });
    if (done && this.queue.current === question) this.queue.answer(() => Promise.resolve(done));
  }

  /** Takes the class that looks right. */
  #choose(number) {
    const question = this.queue.current;
    const one = question?.labels[number - 1];
    if (one) this.queue.answer(() => post("/decisions", { decisions: [{ id: question.id, kind: one.kind, name: one.name, state: "accepted" }], answering: "errors" }));
  }

  keys = {
    accept: (n) => this.#choose(n), y: () => this.yes(), n: () => this.no(), s: () => this.queue.skip(),
    c: () => { this.name("class"); }, t: () => { this.name("tag"); }, undo: () => this.host.undo(),
  };
}
