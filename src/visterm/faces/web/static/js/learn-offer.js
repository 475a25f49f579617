// What was said since the models learned, and the offer to learn it now.

import { fill, h } from "./dom.js";
import { isLearning, startJob } from "./jobs.js";
import { store } from "./store.js";

/** A bar under the header; it is there only when learning would change answers. */
export function learnOffer() {
  const element = h("div", { class: "learn-offer", role: "status" });
  let later = 0; // the offer was put off at this number of labels
  const draw = () => {
    const found = store.unlearned;
    const offered = found?.due && found.when === "ask" && found.labels > later && !isLearning();
    element.hidden = !offered;
    if (!offered) return;
    const time = found.seconds ? `, about ${Math.max(1, Math.round(found.seconds))} s` : "";
    fill(element,
      h("span", {}, `${found.labels.toLocaleString("en")} new ${found.labels === 1 ? "label" : "labels"} not yet learned.`),
      h("button", { type: "button", class: "main", onclick: () => startJob("train") }, `Learn now${time}`),
      h("button", { type: "button", class: "quiet", onclick: () => { later = 2 * found.labels; draw(); } }, "Later"));
  };
  element.hidden = true;
  store.addEventListener("collection", draw);
  return element;
}
