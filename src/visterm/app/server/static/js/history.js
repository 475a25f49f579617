// Undo and redo: from the catalogue's log, so also for what another tab or the command line did.

import { post } from "./api.js";
import { notice, told } from "./notices.js";
import { store } from "./store.js";

export const undo = () => step("/undo", "Undone");
export const redo = () => step("/redo", "Done again");

async function step(path, word) {
  const done = await told(() => post(path));
  if (!done) return;
  notice(`${word}: ${done.what ?? done.done ?? "the last change"}`);
  const known = store.forgetLabels();
  await store.need(known.slice(0, 1000), { again: true });
  store.tell("changed");
}
