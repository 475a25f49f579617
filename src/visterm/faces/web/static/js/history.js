// Undo and redo: from the catalogue's log, so also for what another tab or the command line did. In review, what was
// decided there is undone first; anything else only after a question.

import { get, post } from "./api.js";
import { confirm, notice, told } from "./notices.js";
import { store } from "./store.js";

const LOOKED_BACK = 50;

export const undo = () => step("/undo", "Undone");
export const redo = () => step("/redo", "Redone");

async function step(path, word, body = {}) {
  const done = await told(() => post(path, body));
  if (!done) return;
  notice(`${word}: ${done.actions[0]?.what ?? "the last change"}`);
  const known = store.forgetLabels();
  await store.need(known.slice(0, 1000), { again: true });
  store.tell("changed");
  if (done.actions.some((action) => action.what.startsWith("remove"))) store.tell("reload");
}

/** The actions that were made in review and hold, the newest last. */
let own = [];

/** Remembers what was decided in review: the answer to labels or decisions. */
export function decided(answer) {
  if (answer?.action) own.push(answer.action);
}

/** Undoes one action if it is the last one; else says what would be undone instead, and asks. True if it is undone. */
export async function undoOnly(action) {
  try {
    await post("/undo", { action });
  } catch (error) {
    if (error.status !== 409) throw error;
    await askFirst(error.problem, "Something else was changed after your last answer.");
    return false;
  }
  own = own.filter((one) => one !== action);
  return true;
}

/** Undoes the last decision of this review; if there is none, asks about the last change from elsewhere. */
export async function undoInReview() {
  if (own.length) {
    if (await told(() => undoOnly(own.at(-1)))) { notice("Your last answer is undone."); store.tell("reload"); }
    return;
  }
  const found = await told(() => get("/history", { limit: LOOKED_BACK }));
  const last = found?.actions.find((one) => !one.undone);
  if (!last) notice("There is nothing to undo.");
  else await askFirst({ ...last, action: last.id }, "You have no answer in this review left to undo.");
}

async function askFirst({ action, what, who, time }, why) {
  const by = who === "person" ? "a person" : "an import";
  const text = `${why} The last change is “${what}”, by ${by}, ${new Date(time).toLocaleString()}. Undo that?`;
  if (await confirm("Undo a change from elsewhere?", text, "Undo that", "Leave it", { careful: true })) await step("/undo", "Undone", { action });
}
