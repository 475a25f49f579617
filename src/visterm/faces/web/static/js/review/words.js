// Words suggested for pictures without labels: accept, rename, or drop each.

import { decided } from "../actions.js";
import { get, post } from "../api.js";
import { colours, counted, fill, h, thumbnail } from "../dom.js";
import { undoOnly } from "../history.js";
import { notice } from "../notices.js";
import { frame } from "./frame.js";

const SHOWN = 6;

export class SuggestedWords {
  #done = [];
  #chain = Promise.resolve();

  constructor(host) {
    this.host = host;
    this.words = null;
    this.list = h("ul", { class: "suggested-words", "aria-label": "Suggested words" });
    this.element = frame(host, "Suggested words", h("div", { class: "many words-page" }, this.list), () => this.#left());
  }

  #left() {
    if (!this.words) return "";
    const open = this.words.filter((one) => !one.state).length;
    return `${counted(open, "word")} for ${counted(this.unlabelled, "picture")} without a label`;
  }

  async start() {
    fill(this.list, h("li", { class: "soft waiting" }, "Looking for words that fit. This takes a few seconds the first time."));
    try {
      const found = await get("/review/words");
      this.unlabelled = found.unlabelled;
      this.words = found.words.map(({ word, pictures }) => ({
        word, name: word, out: new Set(), state: null,
        pictures: pictures.ids.map((id, i) => ({ id, key: pictures.keys[i], colours: pictures.colours[i] })),
      }));
    } catch (error) {
      this.#tell("This did not work", error.message, [["Try again", () => this.start()], ["Back to review", () => this.host.leave()]]);
      return;
    }
    this.show();
  }

  /** A message instead of the list. */
  #tell(title, text, choices) {
    const place = h("li");
    fill(this.list, place);
    this.host.say(place, title, text, choices);
  }

  show() {
    this.element.update();
    if (!this.words.length) {
      this.#tell("No word to suggest", this.unlabelled ? "No everyday word fits these pictures well enough. Name groups of look-alikes instead." : "Every picture that Visterm has looked at has a label.",
        [...(this.unlabelled > 1 ? [["Name look-alikes", () => this.host.open("groups")]] : []), ["Back to review", () => this.host.leave()]]);
      return;
    }
    fill(this.list, h("li", { class: "soft" }, "Accept a word, and its pictures get this tag. Change it first if you have a better one. Click a picture to take it out."),
      this.words.map((one) => this.#row(one)));
  }

  #row(one) {
    const row = h("li", { class: "word-row", "data-word": one.word });
    one.row = row;
    this.#draw(one);
    return row;
  }

  #draw(one) {
    const n = one.pictures.length - one.out.size;
    const title = one.state === "accepted" ? `${one.name}: given to ${counted(n, "picture")}` : `“${one.word}” is dropped`;
    one.row.className = `word-row ${one.state || ""}`;
    if (one.state) {
      fill(one.row, h("p", { class: "verdict", role: "status" }, title));
      return;
    }
    const input = h("input", { type: "text", value: one.name, maxlength: 200, autocomplete: "off", spellcheck: "false", "aria-label": `Tag for the pictures of ${one.word}`, oninput: () => { one.name = input.value; } });
    fill(one.row,
      h("form", { onsubmit: (event) => { event.preventDefault(); this.accept(one); } }, input,
        h("span", { class: "soft number" }, counted(n, "picture")),
        h("button", { type: "submit", class: "main" }, "Accept"),
        h("button", { type: "button", onclick: () => this.drop(one) }, "Drop"),
        one.pictures.length > SHOWN ? h("button", { type: "button", class: "quiet", "aria-expanded": String(Boolean(one.all)), onclick: () => { one.all = !one.all; this.#draw(one); } }, one.all ? "Fewer" : "All") : null),
      h("ul", { class: "thumbs" }, (one.all ? one.pictures : one.pictures.slice(0, SHOWN)).map((picture, i) => this.#picture(one, picture, i))));
  }

  #picture(one, picture, i) {
    const out = one.out.has(picture.id);
    return h("li", {}, h("button", {
      type: "button", class: out ? "out" : "", "aria-pressed": String(!out), "aria-label": `Picture ${i + 1} of ${one.word}${out ? ", taken out" : ""}`,
      title: out ? "Put back" : "Take out", style: { background: colours(picture.colours) },
      onclick: () => { if (!one.out.delete(picture.id)) one.out.add(picture.id); this.#draw(one); one.row.querySelectorAll(".thumbs button")[i].focus(); },
    }, h("img", { src: thumbnail(picture.key), alt: "", decoding: "async", loading: "lazy", draggable: "false" })));
  }

  accept(one) {
    const name = one.name.trim();
    const ids = one.pictures.filter((picture) => !one.out.has(picture.id)).map((picture) => picture.id);
    if (!name || !ids.length) { notice(name ? "Every picture is taken out. Put one back, or drop the word." : "Type a name, or drop the word."); return; }
    one.name = name;
    const decisions = ids.map((id) => ({ id, kind: "tag", name, state: "accepted" }));
    this.#do(one, "accepted", () => post("/decisions", { decisions }), (done) => (done.action === null ? true : undoOnly(done.action)));
  }

  drop(one) {
    this.#do(one, "dropped", () => post("/review/words/decline", { word: one.word }), () => post("/review/words/decline", { word: one.word, decline: false }));
  }

  /** Shows at once what was decided; `request` is sent in the background, and `back` takes it back. */
  #do(one, state, request, back) {
    const entry = { one, back, answer: null };
    one.state = state;
    this.#draw(one);
    this.element.update();
    this.#done.push(entry);
    this.#chain = this.#chain.then(request).then((answer) => {
      entry.answer = answer;
      if (state === "accepted") decided(answer);
      this.host.learnedLater();
    }, (error) => {
      this.#done = this.#done.filter((each) => each !== entry);
      this.#open(one);
      notice(`This was not noted: ${error.message}`, { bad: true });
    });
    this.#next(one);
  }

  #open(one) {
    one.state = null;
    this.#draw(one);
    this.element.update();
  }

  /** On to the next word that is open. */
  #next(one) {
    const at = this.words.indexOf(one);
    const next = [...this.words.slice(at + 1), ...this.words.slice(0, at)].find((each) => !each.state);
    next?.row.querySelector("button.main").focus();
  }

  undo() {
    const entry = this.#done.pop();
    if (!entry) return false;
    this.#chain = this.#chain.then(() => entry.back(entry.answer)).then((done) => {
      if (done) this.#open(entry.one);
      else this.#done.push(entry);
      this.host.learnedLater();
    }, (error) => { this.#done.push(entry); notice(error.message, { bad: true }); });
    return true;
  }

  /** Resolves when all decisions so far have been sent. */
  sent() {
    return this.#chain;
  }

  keys = { undo: () => this.host.undo() };
}
