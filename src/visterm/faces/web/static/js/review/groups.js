// Look-alikes without labels: take out what does not belong, name the rest in one go.

import { decided } from "../actions.js";
import { get } from "../api.js";
import { colours, counted, fill, h, thumbnail } from "../dom.js";
import { undoOnly } from "../history.js";
import { nameInput, say } from "../naming.js";
import { notice } from "../notices.js";
import { frame } from "./frame.js";

/** The columns of a group as one object for each picture. */
function rows({ pictures: { ids, keys, colours: quarters }, outliers }) {
  const differ = new Set(outliers);
  return ids.map((id, i) => ({ id, key: keys[i], colours: quarters[i], outlier: differ.has(id) }));
}

export class LookAlikes {
  #named = [];
  #chain = Promise.resolve();

  constructor(host) {
    this.host = host;
    this.groups = null;
    this.at = 0;
    this.out = new Set();
    this.wall = h("ul", { class: "wall", "aria-label": "Pictures that look alike" });
    this.kind = h("select", { "aria-label": "What the name is" }, h("option", { value: "class" }, "class"), h("option", { value: "tag" }, "tag"));
    const { field, input } = nameInput(() => this.kind.value, () => this.give());
    this.input = input;
    this.input.setAttribute("placeholder", "What are these?");
    this.input.setAttribute("aria-label", "A name for these pictures");
    this.title = h("h1", { class: "number" });
    this.differ = h("button", { type: "button", onclick: () => this.takeOutliers() });
    this.form = h("form", { class: "naming", onsubmit: (event) => { event.preventDefault(); this.give(); } },
      this.kind, field,
      h("button", { type: "submit", class: "main" }, "Name them"),
      h("button", { type: "button", onclick: () => this.skip() }, "Skip"));
    this.element = frame(host, "Look-alikes", h("div", { class: "many" },
      h("div", { class: "actions" }, this.title, h("span", { class: "grow" }), this.differ), this.wall, this.form), () => this.#left());
    this.wall.addEventListener("click", (event) => this.#click(event));
  }

  #left() {
    return this.groups ? `${counted(this.left, "picture")} without a label` : "";
  }

  async start() {
    this.form.hidden = this.differ.hidden = true;
    fill(this.title, "Putting look-alikes together.");
    fill(this.wall);
    try {
      const found = await get("/review/groups");
      this.groups = found.groups.map((group) => ({ ...group, pictures: rows(group) }));
      this.left = found.pictures;
    } catch (error) {
      fill(this.title);
      this.host.say(this.wall, "This did not work", error.message, [["Try again", () => this.start()], ["Back to review", () => this.host.leave()]]);
      return;
    }
    this.at = 0;
    this.show();
  }

  get group() {
    return this.groups?.[this.at] || null;
  }

  show() {
    this.element.update();
    const { group } = this;
    this.form.hidden = this.differ.hidden = !group;
    if (!group) {
      fill(this.title);
      const [named, pictures] = [this.#named.length, this.#named.reduce((sum, one) => sum + one.ids.length, 0)];
      this.host.say(this.wall, named ? "A good start" : "Nothing to name", named
        ? `${counted(pictures, "picture")} in ${counted(named, "group")} have a name. Now teach one by one: Visterm asks what helps most.`
        : "Every picture that Visterm has looked at has a label.",
      [...(named ? [["Teach", () => this.host.open("teach")]] : []), ["Back to review", () => this.host.leave()]]);
      return;
    }
    this.out = new Set();
    this.#draw();
    this.input.value = "";
    this.input.focus({ preventScroll: true });
    this.wall.scrollTop = 0;
  }

  #draw() {
    const { group } = this;
    const outliers = group.pictures.filter((one) => one.outlier && !this.out.has(one.id)).length;
    fill(this.title, `${counted(group.size - this.out.size, "picture")} that look alike`);
    fill(this.differ, outliers ? (outliers === 1 ? "Take out the one that differs" : `Take out the ${outliers} that differ`) : "Put all back");
    this.differ.hidden = !outliers && !this.out.size;
    this.wall.dataset.size = group.size <= 12 ? "few" : group.size <= 35 ? "some" : "many";
    fill(this.wall, group.pictures.map((one, i) => h("li", {},
      h("button", {
        type: "button", "data-index": i, class: `${one.outlier ? "outlier" : ""} ${this.out.has(one.id) ? "out" : ""}`,
        "aria-pressed": String(!this.out.has(one.id)), "aria-label": `Picture ${i + 1}${one.outlier ? ", differs" : ""}`,
        title: this.out.has(one.id) ? "Put back" : "Take out", style: { background: colours(one.colours) },
      }, h("img", { src: thumbnail(one.key), alt: "", decoding: "async", loading: "lazy", draggable: "false" })))));
  }

  #click(event) {
    const button = event.target.closest("button[data-index]");
    if (!button) return;
    const { id } = this.group.pictures[Number(button.dataset.index)];
    if (!this.out.delete(id)) this.out.add(id);
    this.#draw();
    this.wall.querySelectorAll("button")[Number(button.dataset.index)].focus({ preventScroll: true });
  }

  takeOutliers() {
    const differing = this.group.pictures.filter((one) => one.outlier && !this.out.has(one.id));
    if (differing.length) for (const one of differing) this.out.add(one.id);
    else this.out.clear();
    this.#draw();
    this.input.focus();
  }

  async give() {
    const name = this.input.value.trim();
    if (!name) { notice("Type a name, or skip these pictures."); return; }
    const { at, group } = this;
    const ids = group.pictures.filter((one) => !this.out.has(one.id)).map((one) => one.id);
    if (!ids.length) { notice("Every picture is taken out. Put one back, or skip."); return; }
    const done = await say(this.kind.value, name, ids);
    if (!done || this.group !== group) return;
    decided(done);
    this.#named.push({ at, ids, action: done.action });
    this.left -= ids.length;
    this.host.learnedLater();
    this.skip();
  }

  skip() {
    this.at += 1;
    this.show();
  }

  undo() {
    const last = this.#named.pop();
    if (!last) return false;
    this.#chain = this.#chain.then(() => this.#takeBack(last))
      .catch((error) => { this.#named.push(last); notice(error.message, { bad: true }); });
    return true;
  }

  /** Resolves when all answers so far have been taken back. */
  sent() {
    return this.#chain;
  }

  async #takeBack(last) {
    if (last.action !== null && !(await undoOnly(last.action))) {
      this.#named.push(last); // it holds as before
      return;
    }
    this.left += last.ids.length;
    this.at = last.at;
    this.host.learnedLater();
    this.show();
  }

  keys = {
    s: () => this.skip(), c: () => this.#type("class"), t: () => this.#type("tag"),
    undo: () => this.host.undo(),
  };

  #type(kind) {
    this.kind.value = kind;
    this.input.focus();
  }
}
