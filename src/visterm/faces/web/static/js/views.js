// The views of the page, in the order of their links. CONTRIBUTING.md says how to add one.

import { NamesView } from "./names-view.js";
import { QualityView } from "./quality-view.js";
import { ReviewView } from "./review/view.js";
import { store } from "./store.js";

/**
 * Each view: its name in the address, its word, the key after "g", and how much work waits there. A View has an
 * element, a show() that reads the address, and its keys. The pictures, with the viewer above them, are shown by main.js.
 */
export const VIEWS = [
  { name: "pictures", word: "Pictures", key: "p" },
  { name: "review", word: "Review", key: "r", View: ReviewView, waiting: () => (store.review?.ready ? store.review.teach + store.review.errors : 0) },
  { name: "names", word: "Tags", key: "t", View: NamesView },
  { name: "quality", word: "Quality", key: "q", View: QualityView },
];
