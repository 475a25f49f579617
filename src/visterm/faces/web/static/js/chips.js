// What is said of a picture, as small marks: filled by people, outlined by machines.

import { counted, h, percent, sentence } from "./dom.js";
import { store } from "./store.js";

/** A share as a short line. */
export const bar = (share) => h("span", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${Math.round(100 * share)}%` } }));

export const chance = (p) => h("span", { class: "chance" }, bar(p), percent(p));

/** A label of people; `remove` takes it away. */
export const saidChip = (name, { kind = "tag", title = "", denied = false, remove = null } = {}) =>
  h("li", { class: `label ${kind === "class" ? "class" : ""} ${denied ? "denied" : ""}`, title },
    h("span", { class: "name" }, name),
    remove ? h("button", { type: "button", "aria-label": `Take ${name} away`, onclick: remove }, "×") : null);

/** A suggestion with its number, probability, and yes and no. */
export const suggestedChip = ({ kind, name, probability }, number, { accept, reject, why = null }) =>
  h("li", { class: "label machine" },
    number ? h("kbd", {}, number) : null,
    h("span", { class: "name" }, kind === "class" ? `class ${name}` : name), chance(probability),
    why ? h("button", { type: "button", "aria-label": `Why ${name}?`, title: "Why?", onclick: why }, "?") : null,
    h("button", { type: "button", "aria-label": `Accept ${name}`, title: "Yes", onclick: accept }, "✓"),
    h("button", { type: "button", "aria-label": `Reject ${name}`, title: "No", onclick: reject }, "✕"));

/** Why some suggestions should be taken with care, in words; nothing if there is no reason. */
export function doubts(open) {
  const { class_doubts: ofClasses = [], tag_doubts: ofTags = [] } = store.collection || {};
  const said = new Set(open.flatMap((one) => (one.kind === "class" ? ofClasses : ofTags)));
  return [...said].map((text) => h("p", { class: "doubt" }, sentence(text)));
}

/** When those learned who give these names, and how many pictures have been labelled since. */
export const ages = (known, names) => known.filter((age) => names.some((one) => one.by === age.by)).map((age) => h("p", { class: "soft" },
  `${age.by === "review" ? "The review" : age.by} learned from ${counted(age.labelled, "picture")} on ${new Date(age.learned).toLocaleDateString()}${
    age.since ? `; ${age.since.toLocaleString("en")} more labelled since` : ""}.`));

/** The open suggestions of a picture in the order in which keys 1 to 9 take them. */
export const suggestions = (known) => [
  ...(known?.suggested_class ? [{ kind: "class", ...known.suggested_class }] : []),
  ...(known?.suggested_tags || []).map((one) => ({ kind: "tag", ...one })),
];
