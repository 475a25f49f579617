// Asks for a tag or a class, with completion; a name that looks like a slip is asked about.

import { get } from "./api.js";
import { completing } from "./completing.js";
import { counted, h } from "./dom.js";
import { dialog, notice } from "./notices.js";
import { store } from "./store.js";

/** Asks for a name of `kind` and gives it to the pictures, with what `more` says. The answer, or false if it was not given. */
export async function give(kind, ids, more = {}) {
  if (!ids.length) { notice("Select a picture first."); return false; }
  const name = await askName(kind, ids.length);
  return name ? say(kind, name, ids, more) : false;
}

/** Gives a name to pictures; asks if it looks like a slip. */
export async function say(kind, name, ids, more = {}) {
  const said = kind === "class" ? { class: name } : { tags: [name] };
  let answer;
  try {
    answer = await store.label(ids, { ...said, ...more });
    if (!answer) return false;
  } catch (error) {
    const { question, near, near_kind: nearKind } = error.problem;
    const use = nearKind === kind ? `Use ${near}` : `Give the ${nearKind} ${near}`;
    const meant = await dialog("Is this a new name?", (close) => [
      h("p", {}, question || error.message),
      h("div", { class: "choices" },
        h("button", { type: "button", onclick: () => close() }, "Cancel"),
        h("button", { type: "button", class: near ? "" : "main", onclick: () => close({ kind, name, new: true }) }, `Make ${name}`),
        near ? h("button", { type: "button", class: "main", autofocus: true, onclick: () => close({ kind: nearKind, name: near }) }, use) : null)]);
    return meant ? say(meant.kind, meant.name, ids, { ...more, ...(meant.new ? { new: true } : {}) }) : false;
  }
  notice(`${counted(ids.length, "picture")}: ${kind === "class" ? "class " : ""}${name}`);
  return answer;
}

/** An input for a name that completes it; `kind()` is what it names, `done(text)` is called at Enter. */
export function nameInput(kind, done) {
  const input = h("input", { type: "text", autofocus: true, maxlength: 200, autocomplete: "off", spellcheck: "false" });
  const field = h("div", { class: "field" }, input);
  completing(input, {
    find: async (text) => (text.trim() ? (await get("/complete", { text: `${kind()}:${text.trim().replace(/[\s(-].*$/, "")}` })).found : [])
      .filter((item) => item.kind === kind() && item.text.toLowerCase().startsWith(text.trim().toLowerCase())),
    take: (item) => { input.value = item.text; },
    done,
  });
  return { field, input };
}

function askName(kind, n) {
  const what = kind === "class" ? "Class" : "Tag";
  return dialog(`${what} for ${counted(n, "picture")}`, (close) => {
    const finish = () => close(input.value.trim() || null);
    const { field, input } = nameInput(() => kind, finish);
    input.setAttribute("aria-label", what);
    return [field, h("div", { class: "choices" },
      h("button", { type: "button", onclick: () => close() }, "Cancel"),
      h("button", { type: "button", class: "main", onclick: finish }, kind === "class" ? "Give class" : "Give tag"))];
  });
}
