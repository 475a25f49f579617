// A word that the collection does not know: which of five pictures show it? After twenty answers it is a tag.

import { decided } from "../actions.js";
import { get, post } from "../api.js";
import { colours, counted, fill, h, percent, thumbnail } from "../dom.js";
import { undoOnly } from "../history.js";
import { notice } from "../notices.js";
import { frame } from "./frame.js";

const ASKED = 5;

export class NewWord {
  #done = [];
  #skipped = [];
  #chain = Promise.resolve();

  constructor(word, host) {
    this.word = word;
    this.host = host;
    this.found = null;
    this.more = false; // after twenty answers, a person wants to judge more
    this.title = h("h1");
    this.help = h("p", { class: "soft" });
    this.wall = h("ul", { class: "wall new-word-wall" });
    this.bar = h("div", { class: "actions" });
    this.element = frame(host, `A new word: ${word}`, h("div", { class: "many" }, h("div", {}, this.title, this.help), this.wall, this.bar), () => this.#left());
  }

  #left() {
    if (!this.found) return "";
    const { yes, no, enough } = this.found;
    return yes + no < enough ? `${yes + no} of ${enough} judged` : `${yes} yes, ${no} no`;
  }

  start() {
    this.#say("Looking for the pictures that look most like it.");
    return this.#load();
  }

  #say(text) {
    fill(this.title);
    fill(this.help);
    fill(this.bar);
    fill(this.wall, h("li", { class: "soft waiting" }, text));
  }

  async #load() {
    try {
      this.found = await get("/review/word", { word: this.word, limit: ASKED, without: this.#skipped.slice(0, 2000).join(",") });
    } catch (error) {
      this.#say("");
      this.host.say(this.wall.firstChild, "This did not work", error.message, [["Try again", () => this.start()], ["Back to review", () => this.host.leave()]]);
      return;
    }
    const { yes, no, enough, questions } = this.found;
    this.element.update();
    this.summary = yes + no >= enough && !this.more;
    this.wall.dataset.size = this.summary ? "some" : "five";
    if (this.summary || !questions.length) this.#finished();
    else this.#ask(questions);
  }

  #ask(questions) {
    this.pictures = questions;
    this.marked = new Set();
    fill(this.title, "Which of these show ", h("strong", {}, this.found.word), "?");
    fill(this.help, "A picture that you do not mark is noted as not having this tag. Nothing is said of its other tags.");
    this.wall.setAttribute("aria-label", `Pictures that may show ${this.found.word}`);
    fill(this.wall, questions.map((one, i) => h("li", {}, this.#button(one, i, percent(one.asked.probability)))));
    this.wall.scrollTop = 0;
    this.#mark();
  }

  #button(one, i, title) {
    return h("button", {
      type: "button", "data-index": i, title, style: { background: colours(one.colours) },
      onclick: (event) => { this.toggle(i + 1); if (event.detail) event.currentTarget.blur(); }, // so that enter goes on
    }, h("img", { src: thumbnail(one.key), alt: "", decoding: "async", draggable: "false" }), this.summary ? null : h("kbd", {}, i + 1));
  }

  #mark() {
    const n = this.marked.size;
    const all = this.pictures.length;
    [...this.wall.querySelectorAll("button")].forEach((button, i) => {
      const marked = this.marked.has(this.pictures[i].id);
      button.setAttribute("aria-pressed", String(marked));
      button.setAttribute("aria-label", `Picture ${i + 1}${marked ? ", marked" : ""}`);
    });
    if (this.summary) {
      fill(this.bar,
        n ? h("button", { type: "button", class: "main", onclick: () => this.give() }, `Give ${n === 1 ? "it" : `these ${n}`} the tag`) : null,
        n < this.pictures.length ? h("button", { type: "button", onclick: () => this.all() }, "Mark all") : null,
        h("button", { type: "button", class: n ? "" : "main", onclick: () => this.goOn() }, `Judge ${ASKED} more`),
        h("button", { type: "button", onclick: () => this.host.learn() }, "Learn from my labels"));
      return;
    }
    const none = n ? `These ${n}, not the other ${all - n}` : "None of these";
    fill(this.bar,
      h("button", { type: "button", class: "main", onclick: () => this.answer() }, n === all ? "All of these" : none, " ", h("kbd", {}, "enter")),
      h("button", { type: "button", onclick: () => this.skip() }, "Skip these ", h("kbd", {}, "s")));
  }

  /** The tag is there: its answers, and the pictures that probably show it. */
  #finished() {
    const { word, yes, no, likely } = this.found;
    this.summary = true;
    this.pictures = likely.ids.map((id, i) => ({ id, key: likely.keys[i], colours: likely.colours[i] }));
    this.marked = new Set();
    const known = yes ? `${word} is a tag now` : `No picture shows ${word} so far`;
    fill(this.title, `${known}: ${yes} yes, ${no} no.`);
    fill(this.help, this.pictures.length ? `${counted(this.pictures.length, "picture")} more may show it. Mark those that do. Nothing is said of the others.`
      : "No other picture is likely to show it.");
    this.wall.setAttribute("aria-label", `Pictures that may show ${word}`);
    fill(this.wall, this.pictures.map((one, i) => h("li", {}, this.#button(one, i))));
    this.#mark();
  }

  toggle(number) {
    const one = this.pictures?.[number - 1];
    if (!one) return;
    if (!this.marked.delete(one.id)) this.marked.add(one.id);
    this.#mark();
  }

  all() {
    if (!this.pictures) return;
    this.marked = new Set(this.pictures.map((one) => one.id));
    this.#mark();
  }

  answer() {
    if (this.summary || !this.pictures) return;
    this.more = false;
    const decisions = this.pictures.map(({ id }) => this.#decision(id, this.marked.has(id) ? "accepted" : "rejected"));
    this.#send(() => post("/decisions", { decisions, answering: "tag" }));
  }

  /** What looks like it gets the tag, too: suggestions that a person accepts. */
  give() {
    const decisions = [...this.marked].map((id) => this.#decision(id, "accepted"));
    this.#send(() => post("/decisions", { decisions }));
  }

  #decision(id, state) {
    return { id, kind: "tag", name: this.found.word, state };
  }

  skip() {
    if (this.summary || !this.pictures) return;
    const ids = this.pictures.map((one) => one.id);
    this.#skipped.unshift(...ids);
    this.#done.push({ skipped: ids });
    this.#queue(() => {});
  }

  goOn() {
    this.more = true;
    this.#queue(() => {});
  }

  #send(request) {
    this.#queue(async () => {
      const done = await request();
      decided(done);
      this.#done.push({ action: done.action });
      this.host.learnedLater();
    });
  }

  /** One after the other; then the next pictures, which the answer has changed. */
  #queue(step) {
    this.pictures = null; // a key that is pressed meanwhile says nothing
    for (const button of this.bar.querySelectorAll("button")) button.disabled = true;
    this.#chain = this.#chain.then(step).catch((error) => notice(`This was not noted: ${error.message}`, { bad: true })).then(() => this.#load());
  }

  undo() {
    const last = this.#done.pop();
    if (!last) return false;
    this.#queue(async () => {
      if (last.skipped) this.#skipped = this.#skipped.filter((id) => !last.skipped.includes(id));
      else if (last.action !== null && !(await undoOnly(last.action))) this.#done.push(last); // it holds as before
      this.host.learnedLater();
    });
    return true;
  }

  /** Resolves when all answers so far have been sent. */
  sent() {
    return this.#chain;
  }

  keys = {
    accept: (n) => this.toggle(n), a: () => this.all(), enter: () => this.answer(), s: () => this.skip(), undo: () => this.host.undo(),
  };
}
