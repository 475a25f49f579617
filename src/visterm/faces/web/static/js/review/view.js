// Review: what waits, how good it gets, and the way into each queue.

import { counted, fill, h, settled } from "../dom.js";
import { undo } from "../history.js";
import { startJob } from "../jobs.js";
import { address, go, read } from "../state.js";
import { store } from "../store.js";
import { Check } from "./check.js";
import { curveLine, curveWords } from "./curve.js";
import { LookAlikes } from "./groups.js";
import { Six } from "./six.js";
import { OneTag } from "./tag.js";
import { Teach } from "./teach.js";
import { NewWord } from "./word.js";
import { SuggestedWords } from "./words.js";

const TAGS_SHOWN = 12;
const LEARNING_MILLISECONDS = 1500;

const to = (...part) => address({ view: "review", part });

export class ReviewView {
  constructor() {
    this.state = null;
    this.queue = null;
    this.moreTags = false;
    this.start = h("div", { class: "review-start" });
    this.element = h("div", { class: "review" }, this.start);
    this.learnedLater = settled(() => this.#askAgain(), 400);
    this.heard = () => { if (!this.queue && !this.element.hidden) this.refresh(); };
    store.addEventListener("reload", this.heard);
  }

  /** Shows the start, or the queue that the address names. */
  async show() {
    const [name, ...rest] = read().part;
    const made = {
      teach: () => new Teach(this), measure: () => new Teach(this, "measure"), errors: () => new Check(this), six: () => new Six(rest.join("/"), this),
      tag: () => rest.length && new OneTag(rest.join("/"), this), groups: () => new LookAlikes(this),
      words: () => new SuggestedWords(this), word: () => rest.length && new NewWord(rest.join("/"), this),
    }[name]?.();
    this.queue?.element.remove();
    this.queue = made || null;
    this.start.hidden = Boolean(made);
    this.element.classList.toggle("full", Boolean(made));
    if (!made) {
      await this.refresh();
      return;
    }
    this.element.append(made.element);
    document.activeElement?.blur();
    await Promise.all([made.start(), this.#know()]);
  }

  /** What waits; the first answer takes a while, because it is learned from all labels. */
  async #know() {
    this.problem = null;
    try {
      this.state = await store.refreshReview();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.problem = error.message;
    }
    this.queue?.element.update();
  }

  async refresh() {
    if (!this.state) {
      fill(this.start, h("h1", {}, "Review"), h("p", { class: "soft", role: "status" }, "Learning from the labels so far. This takes a few seconds the first time."),
        h("div", { class: "ghost", "aria-hidden": "true" }), h("div", { class: "ghost", "aria-hidden": "true" }), h("div", { class: "ghost", "aria-hidden": "true" }));
    }
    await this.#know();
    this.#draw();
    if (this.state?.learning) this.learnedLater();
  }

  /** After answers: the measured quality, until it has heard of all of them. */
  async #askAgain() {
    if (this.element.hidden) return;
    await this.#know();
    if (!this.queue) this.#draw();
    if (this.state?.learning) setTimeout(() => this.learnedLater(), LEARNING_MILLISECONDS);
  }

  #draw() {
    if (this.queue) return;
    const { state } = this;
    if (this.problem || !state?.ready) {
      this.say(this.start, "Nothing can be reviewed yet", this.problem || state.problem || "The pictures have not been looked at.", this.problem
        ? [["Try again", () => this.refresh()]] : [["Look at the pictures", () => startJob("features")]]);
      return;
    }
    this.choices = this.#choices(state);
    fill(this.start, h("h1", {}, "Review"), state.cold ? this.#cold(state) : this.#quality(state),
      h("ol", { class: "queues" }, this.choices.map((one, i) => this.#card(one, i + 1))),
      state.tags.length ? this.#tags(state) : null, this.#newWord());
  }

  #cold(state) {
    const { labelled = 0, pictures = 0 } = store.collection || {};
    const labels = labelled ? `Only ${labelled.toLocaleString("en")} of your ${counted(pictures, "picture")} ${labelled === 1 ? "has" : "have"} a label.`
      : `None of your ${counted(state.alike, "picture")} has a label.`;
    return h("p", { class: "lead" }, `${labels} Begin with groups of pictures that look alike: a name for each group is enough to start. Or let Visterm suggest words.`);
  }

  #quality(state) {
    return h("div", { class: "quality" },
      h("div", {}, h("p", { class: "figure number" }, curveWords(state)),
        h("p", { class: "soft" }, state.learning ? "Learning from your last answers." : [state.figure?.model ? `This is ${state.figure.model}, the model in use.` : "This is what you taught here.", state.kind === "tag" ? " The likeliest tags are as many as a picture has." : ""])),
      curveLine(state, { width: 260, height: 64 }));
  }

  #choices(state) {
    const what = state.asked.length > 1 ? "class or no tags" : state.kind === "class" ? "class" : "tag";
    const groups = { part: "groups", count: state.alike, title: "Name look-alikes", text: "Groups of similar pictures, one name for each group." };
    const words = { part: "words", count: state.alike, title: "Suggested words", text: "Words that fit pictures without a label: accept, change or drop each." };
    if (state.cold) return [groups, words];
    return [
      { part: "teach", count: state.teach, title: "Teach", text: state.teach ? `These pictures have no ${what}. Those that teach most come first.` : state.unlabelled ? "There is nothing to ask about now." : state.asked.length > 1 ? "Every picture has a class and tags." : `Every picture has a ${what}.` },
      { part: "errors", count: state.errors, title: "Check", text: state.errors ? "Labels that look wrong. One answer corrects or confirms each." : "No label looks wrong." },
      ...(state.alike > 1 ? [groups, words] : []),
      ...(state.measure ? [{ part: "measure", count: state.measure, title: "Measure", text: "Pictures drawn at random. With these answers, the figure holds for all pictures." }] : []),
      ...(state.tags.length ? [{ part: "six", count: state.tags.reduce((sum, tag) => sum + tag.pictures, 0), title: "Six at a time", text: "Which of six pictures have a tag? One answer for all six." }] : []),
    ];
  }

  #card({ part, count, title, text }, number) {
    return h("li", {}, h("a", { href: to(part), class: count ? "" : "nothing" },
      h("kbd", {}, number), h("span", { class: "words" }, h("strong", {}, title), h("span", { class: "soft" }, text)),
      h("span", { class: "count number" }, count.toLocaleString("en"))));
  }

  #tags(state) {
    const shown = this.moreTags ? state.tags : state.tags.slice(0, TAGS_SHOWN);
    return h("section", { class: "tag-work" }, h("h2", {}, "Tag by tag"),
      h("p", { class: "soft" }, "For each tag, the pictures where the model is least sure."),
      h("ul", { class: "labels" }, shown.map((tag) => h("li", {}, h("a", { class: "label machine", href: to("tag", tag.name) },
        h("span", { class: "name" }, tag.name), h("span", { class: "soft number" }, tag.pictures.toLocaleString("en"))))),
      state.tags.length > TAGS_SHOWN ? h("li", {}, h("button", { type: "button", class: "quiet", onclick: () => { this.moreTags = !this.moreTags; this.#draw(); } },
        this.moreTags ? "fewer" : `${state.tags.length - TAGS_SHOWN} more`)) : null));
  }

  /** A word that is typed, which no picture may have yet. */
  #newWord() {
    const input = h("input", { type: "text", maxlength: 200, autocomplete: "off", spellcheck: "false", placeholder: "yacht", "aria-label": "A new word" });
    const teach = (event) => {
      event.preventDefault();
      if (input.value.trim()) this.open("word", input.value.trim());
    };
    return h("section", { class: "new-word" }, h("h2", {}, "A new word"),
      h("p", { class: "soft" }, "Type any word, also one that no picture has. Judge twenty pictures, and it is a tag."),
      h("form", { onsubmit: teach }, input, h("button", { type: "submit" }, "Teach it")));
  }

  // For the queues

  open(...part) {
    go({ view: "review", part });
  }

  leave() {
    if (this.queue) this.open();
    else go({ view: "pictures", part: [] });
  }

  /** Undoes the last decision of this review, or asks. An answer that is being taken back at this moment may hold after all. */
  async undo() {
    if (this.queue?.undo()) return;
    await this.queue?.sent();
    if (!this.queue?.undo() && (await undo())) store.tell("reload");
  }

  async learn() {
    await startJob("train");
    this.leave();
  }

  say(place, title, text, choices) {
    fill(place, h("div", { class: "empty-state" }, h("h1", {}, title), h("p", {}, text),
      h("div", { class: "choices" }, choices.map(([label, run], i) => h("button", { type: "button", class: i ? "" : "main", onclick: run }, label)))));
  }

  get keys() {
    return { back: () => this.leave(), undo: () => this.undo(), ...(this.queue ? this.queue.keys : {
      accept: (n) => { const one = this.choices?.[n - 1]; if (!one) return false; this.open(one.part); return true; },
    }) };
  }
}
