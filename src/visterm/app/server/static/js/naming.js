// Asks for a tag or a class, with completion; a name that looks like a slip is asked about.

import { get } from "./api.js";
import { completing } from "./completing.js";
import { counted, h } from "./dom.js";
import { confirm, dialog, notice } from "./notices.js";
import { store } from "./store.js";

/** Asks for a name of `kind` and gives it to the pictures. True if it was given. */
export async function give(kind, ids) {
  if (!ids.length) { notice("Select a picture first."); return false; }
  const name = await askName(kind, ids.length);
  return name ? say(kind, name, ids) : false;
}

/** Gives a name to pictures; asks if it looks like a slip. */
export async function say(kind, name, ids, more = {}) {
  const said = kind === "class" ? { class: name } : { tags: [name] };
  try {
    if (!(await store.label(ids, { ...said, ...more }))) return false;
  } catch (error) {
    const { question, near } = error.problem;
    if (near && (await confirm("Is this meant to be new?", question, `Use ${near}`, `Make ${name}`))) {
      return say(kind, near, ids);
    }
    return say(kind, name, ids, { new: true });
  }
  notice(`${counted(ids.length, "picture")}: ${kind === "class" ? "class " : ""}${name}`);
  return true;
}

function askName(kind, n) {
  return dialog(`${kind === "class" ? "Class" : "Tag"} for ${counted(n, "picture")}`, (close) => {
    const input = h("input", { type: "text", "aria-label": kind === "class" ? "Class" : "Tag", autofocus: true, maxlength: 200 });
    const finish = () => close(input.value.trim() || null);
    const field = h("div", { class: "field" }, input);
    completing(input, {
      find: async (text) => (text.trim() ? (await get("/complete", { text: `${kind}:${text.trim().replace(/[\s(-].*$/, "")}` })).found : [])
        .filter((item) => item.kind === kind && item.text.toLowerCase().startsWith(text.trim().toLowerCase())),
      take: (item) => { input.value = item.text; },
      done: finish,
    });
    return [field, h("div", { class: "choices" },
      h("button", { type: "button", onclick: () => close() }, "Cancel"),
      h("button", { type: "button", class: "main", onclick: finish }, kind === "class" ? "Give class" : "Give tag"))];
  });
}
