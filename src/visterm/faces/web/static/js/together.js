// Several pictures at once: the labels that they have, and what is suggested for them, name by name.

import { chance, doubts, suggestions } from "./chips.js";
import { counted, h } from "./dom.js";
import { notice } from "./notices.js";
import { say } from "./naming.js";
import { store } from "./store.js";

const SHOWN = 30;

/** Names with the pictures they belong to, the most frequent first. */
function byName(pairs) {
  const found = new Map();
  for (const { kind, name, id, probability } of pairs) {
    const key = `${kind}:${name}`;
    if (!found.has(key)) found.set(key, { kind, name, ids: [], sum: 0 });
    const one = found.get(key);
    one.ids.push(id);
    one.sum += probability ?? 0;
  }
  return [...found.values()].sort((a, b) => b.ids.length - a.ids.length || a.name.localeCompare(b.name));
}

/** The first names, and the others behind a word. */
const listed = (names, make) => [
  h("ul", { class: "labels" }, names.slice(0, SHOWN).map(make)),
  names.length > SHOWN ? h("details", {}, h("summary", {}, counted(names.length - SHOWN, "other")), h("ul", { class: "labels" }, names.slice(SHOWN).map(make))) : null];

/** The labels that people and imports gave: how many of the pictures have each; to give to all, or to take away. */
export function commonLabels(ids, known) {
  const given = byName(known.flatMap((one) => [
    ...(one.class ? [{ kind: "class", name: one.class, id: one.id }] : []),
    ...one.tags.map((name) => ({ kind: "tag", name, id: one.id }))]));
  if (!given.length) return [h("h2", {}, "Labels"), h("p", { class: "soft" }, "None of them has a label yet.")];
  const part = (n) => (n === ids.length ? "all" : `${n.toLocaleString("en")} of ${ids.length.toLocaleString("en")}`);
  const takeAway = async ({ kind, name, ids: its }) => {
    if (await store.label(its, kind === "class" ? { clear: ["class"] } : { no_tags: [name] })) {
      notice(`${name}: taken away from ${counted(its.length, "picture")}.`);
    }
  };
  return [h("h2", {}, "Labels"), listed(given, (one) =>
    h("li", { class: `label ${one.kind === "class" ? "class" : ""}` },
      h("span", { class: "name" }, one.name), h("span", { class: "number" }, part(one.ids.length)),
      one.ids.length < ids.length ? h("button", { type: "button", "aria-label": `Give ${one.name} to all`, title: "Give it to all", onclick: () => say(one.kind, one.name, ids) }, "+") : null,
      h("button", { type: "button", "aria-label": `Take ${one.name} away`, title: "Take it away", onclick: () => takeAway(one) }, "×")))];
}

/** What models suggest for the pictures, name by name, to accept or to reject together. */
export function commonSuggestions(known) {
  const open = known.flatMap((one) => suggestions(one).map((each) => ({ ...each, id: one.id })));
  if (!open.length) return null;
  const decide = async (wanted, state) => {
    if (await store.decide(wanted.map(({ id, kind, name }) => ({ id, kind, name, state })))) notice(`${counted(wanted.length, "suggestion")} ${state}.`);
  };
  const of = ({ kind, name }) => open.filter((one) => one.kind === kind && one.name === name);
  return [h("h2", {}, "Suggested"), doubts(open), listed(byName(open), (one) =>
    h("li", { class: "label machine" },
      h("span", { class: "name" }, one.kind === "class" ? `class ${one.name}` : one.name),
      h("span", { class: "number" }, `for ${one.ids.length.toLocaleString("en")}`), chance(one.sum / one.ids.length),
      h("button", { type: "button", "aria-label": `Accept ${one.name} for ${counted(one.ids.length, "picture")}`, title: "Yes", onclick: () => decide(of(one), "accepted") }, "✓"),
      h("button", { type: "button", "aria-label": `Reject ${one.name} for ${counted(one.ids.length, "picture")}`, title: "No", onclick: () => decide(of(one), "rejected") }, "✕"))),
  h("div", { class: "actions" },
    h("button", { type: "button", onclick: () => decide(open, "accepted") }, "Accept all"),
    h("button", { type: "button", onclick: () => decide(open, "rejected") }, "Reject all"))];
}
