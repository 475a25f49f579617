// One picture large with a question below it: what "Teach" and "Check" share.

import { colours, counted, fill, h, thumbnail } from "../dom.js";
import { store } from "../store.js";
import { frame } from "./frame.js";
import { Queue } from "./queue.js";

const SIDE = 3;
const MOST_ENLARGED = 3;

/** A button that says its key. */
export const action = (key, text, run, kind = "") => h("button", { type: "button", class: kind, onclick: run }, text, " ", h("kbd", {}, key));

/** A subclass has `begin(question)`, before a question is shown for the first time, and `questionOf(question)`, what stands below the picture. */
export class OneByOne {
  constructor(host, { name, title, nothing }) {
    this.host = host;
    this.nothing = nothing;
    this.queue = new Queue(name);
    this.stage = h("div", { class: "stage" });
    this.ask = h("div", { class: "ask" });
    this.side = h("ul", { class: "coming", "aria-label": "Next pictures" });
    this.body = h("div", { class: "one" }, this.stage, this.side, this.ask);
    this.element = frame(host, title, this.body, () => this.#left());
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
      this.begin(question);
      this.#stage(question);
    }
    fill(this.side, queue.waiting.slice(1, 1 + SIDE).map((one) =>
      h("li", { style: { background: colours(one.colours) } }, h("img", { src: thumbnail(one.key), alt: "", draggable: "false" }))));
    fill(this.ask, this.questionOf(question));
  }

  #finished() {
    this.shown = null;
    const { answered } = this.queue;
    this.host.say(this.stage, answered ? "That is all" : "Nothing to do here",
      answered ? `${counted(answered, "answer")} noted. When Visterm learns from them, the suggestions for all pictures get better.` : this.nothing,
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

  undo() {
    return this.queue.undo();
  }

  sent() {
    return this.queue.sent();
  }
}
