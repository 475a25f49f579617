// What a person could do next with a list: name what is there, or teach a word that nothing knows.

import { counted, h } from "./dom.js";
import { address, narrowed } from "./state.js";
import { store } from "./store.js";

const to = (...part) => address({ view: "review", part });

/** The ways on from a list, as links; none where there is nothing to offer. */
export function offers(state, list) {
  const unlabelled = store.collection && !store.collection.labelled && store.collection.pictures > 1;
  if (unlabelled && !state.q && !Object.keys(narrowed(state)).some((key) => narrowed(state)[key]?.length)) {
    return [h("p", {}, `None of your ${counted(store.collection.pictures, "picture")} has a label. A start in five minutes:`),
      h("a", { class: "button main", href: to("words") }, "Suggested words"),
      h("a", { class: "button", href: to("groups") }, "Name look-alikes")];
  }
  const unsure = list.understood?.teachable || [];
  return unsure.length && !list.nLikely
    ? unsure.map((word) => h("a", { class: "button", href: to("word", word) }, `Teach “${word}”: judge 20 pictures`)) : [];
}
