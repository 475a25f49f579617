// Undo and redo: from the catalogue's log. What was done in this window is undone at once; what another window, another
// person or the command line did is undone only after a question.

import { decided, forgotten, lastOwn } from "./actions.js";
import { get, post } from "./api.js";
import { confirm, notice, told } from "./notices.js";
import { store } from "./store.js";

const LOOKED_BACK = 50;
/** Undoes the last action of this window; if there is none, asks about the last one from elsewhere. True if it is undone. */
export async function undo() {
  const last = lastOwn();
  return told(last === undefined ? askAboutLast : async () => {
    const done = await undoOnly(last);
    if (done) await after(done, "Undone");
    return Boolean(done);
  });
}

export async function redo() {
  const done = await told(() => post("/redo"));
  if (!done) return;
  for (const { id } of done.actions) decided({ action: id });
  await after(done, "Redone");
}

/** Undoes one action if it is the last one; else says what would be undone instead, and asks. False if it is not undone. */
export async function undoOnly(action) {
  let done;
  try {
    done = await post("/undo", { action });
  } catch (error) {
    if (error.status !== 409) throw error;
    if (!(error.problem.action >= action)) forgotten(action); // it was undone elsewhere
    await askFirst(error.problem, "Something else was changed after your last step.");
    return false;
  }
  forgotten(action);
  return done;
}

async function askAboutLast() {
  const { actions } = await get("/history", { limit: LOOKED_BACK });
  const last = actions.find((one) => !one.undone);
  if (!last) notice("There is nothing to undo.");
  else await askFirst({ ...last, action: last.id }, "Nothing that you did in this window is left to undo.");
}

async function askFirst({ action, what, who, time }, why) {
  if (!action) { notice("There is nothing to undo."); return; }
  const by = who === "person" ? "a person" : "an import";
  const text = `${why} The last change is “${what}”, by ${by}, ${new Date(time).toLocaleString()}. Undo that?`;
  if (!(await confirm("Undo a change from elsewhere?", text, "Undo that", "Leave it", { careful: true }))) return;
  await after(await post("/undo", { action }), "Undone");
}

/** Shows what was undone or redone, and what is known now. */
async function after(done, word) {
  notice(`${word}: ${done.actions[0]?.what ?? "the last change"}`);
  await store.refreshLabels();
  store.tell("changed");
  if (done.actions.some((action) => action.what.startsWith("remove"))) store.tell("reload");
}
