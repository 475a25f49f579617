// What is known of one picture: labels with their source, suggestions, caption, files. Used beside the grid and large.

import { get } from "./api.js";
import { ages, doubts, saidChip, suggestedChip, suggestions } from "./chips.js";
import { fileName, h, percent, thumbnail } from "./dom.js";
import { give } from "./naming.js";
import { dialog, told } from "./notices.js";
import { address, go, NO_FILTERS, read } from "./state.js";
import { store } from "./store.js";

/** From this probability on, it is said that a picture may belong to no class in use. */
const STRANGE = 0.2;

const when = (time) => new Date(time).toLocaleString();
const whom = (label) => `${label.source === "person" ? "a person" : label.source === "import" ? "imported" : label.source}, ${when(label.time)}`;

/** Accepts or rejects suggestion number n (from 1) of a picture. */
export async function decideNumber(id, n, state) {
  const one = suggestions(store.labels.get(id))[n - 1];
  if (one) await store.decide([{ id, kind: one.kind, name: one.name, state }]);
}

/** Rejects all suggestions of a picture, in one step; false if there are none. */
export function denyAll(id) {
  const open = suggestions(store.labels.get(id));
  if (!open.length) return false;
  store.decide(open.map(({ kind, name }) => ({ id, kind, name, state: "rejected" })));
  return true;
}

/** The elements that say all about a picture; `why(tag)` shows what counts, in the element `reason`. */
export function about(details, { why = null, reason = null } = {}) {
  const { id } = details;
  const known = { suggested_class: details.suggested_class, suggested_tags: details.suggested_tags };
  const people = details.tags.filter((label) => label.state !== "suggested");
  const open = suggestions(known);
  return [
    h("h2", {}, "Class"),
    h("ul", { class: "labels" }, details.class
      ? saidChip(details.class.name, { kind: "class", title: whom(details.class), remove: details.class.source === "person" ? () => store.label([id], { clear: ["class"] }) : null })
      : h("li", { class: "soft" }, "none yet")),
    details.none >= STRANGE ? h("p", { class: "doubt" }, `Perhaps none of your classes: ${percent(details.none)}. If so, give it a class of its own.`) : null,
    h("h2", {}, "Tags"),
    h("ul", { class: "labels" }, people.length
      ? people.map((label) => saidChip(label.name, {
        title: whom(label), denied: label.state === "rejected",
        remove: () => (label.state === "rejected" || label.source === "person"
          ? store.label([id], { clear: [`tag:${label.name}`] }) : store.label([id], { no_tags: [label.name] })),
      }))
      : h("li", { class: "soft" }, "none yet")),
    open.length ? [h("h2", {}, "Suggested"), doubts(open), ages(details.ages, open), h("ul", { class: "labels" }, open.map((one, i) => suggestedChip(one, i < 9 ? i + 1 : null, {
      accept: () => store.decide([{ id, kind: one.kind, name: one.name, state: "accepted" }]),
      reject: () => store.decide([{ id, kind: one.kind, name: one.name, state: "rejected" }]),
      why: why && one.kind === "tag" ? () => why(one.name) : null,
    }))), open.length > 1 ? h("div", { class: "actions" }, h("button", {
      type: "button", onclick: () => store.decide(open.map(({ kind, name }) => ({ id, kind, name, state: "rejected" }))),
    }, "None of these ", h("kbd", {}, "n"))) : null] : null,
    reason,
    h("div", { class: "actions" },
      h("button", { type: "button", onclick: () => give("tag", [id]) }, "Add tag ", h("kbd", {}, "t")),
      h("button", { type: "button", onclick: () => give("class", [id]) }, "Class ", h("kbd", {}, "c"))),
    details.title ? [h("h2", {}, "Title"), h("p", {}, details.title)] : null,
    details.caption ? [h("h2", {}, "Caption"), h("p", {}, details.caption)] : null,
    h("div", { class: "actions" },
      h("button", { type: "button", onclick: () => rewrite(details, "title") }, details.title ? "Change title" : "Add title"),
      h("button", { type: "button", onclick: () => rewrite(details, "caption") }, details.caption ? "Change caption" : "Add caption")),
    h("h2", {}, "File"),
    h("dl", {},
      toldByFile(details.metadata).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
      details.width ? [h("dt", {}, "Size"), h("dd", { class: "number" }, `${details.width} × ${details.height}, ${(details.bytes / 1000).toLocaleString("en", { maximumFractionDigits: 0 })} kB`)] : null,
      h("dt", {}, details.paths.length > 1 ? "Files" : "File"), h("dd", {}, details.paths.map((path) => h("div", {}, path)))),
  ];
}

/** What the file says of its picture, as pairs of words. */
function toldByFile(said) {
  const exposure = said.exposure && (said.exposure < 0.3 ? `1/${Math.round(1 / said.exposure)} s` : `${said.exposure} s`);
  const shot = [exposure, said.aperture && `f/${said.aperture}`, said.iso && `ISO ${said.iso}`, said.focal_length && `${said.focal_length} mm`];
  return [
    ["Taken", said.taken?.replace("T", " ").slice(0, 16)],
    ["Camera", said.camera], ["Lens", said.lens], ["Exposure", shot.filter(Boolean).join(", ")],
    ["Position", said.latitude === null ? null : `${said.latitude}, ${said.longitude}`],
    ["Rating", said.rating && String(said.rating)], ["Colour label", said.colour], ["Creator", said.creator], ["Copyright", said.copyright],
  ].filter(([, value]) => value);
}

/** Asks for the caption or title of a picture; an empty one withdraws what was written here. */
async function rewrite(details, kind) {
  const now = details[kind] || "";
  const text = await dialog(kind === "title" ? "Title" : "Caption", (close) => {
    const input = h("textarea", { autofocus: true, rows: kind === "title" ? 1 : 4, maxlength: kind === "title" ? 1000 : 100000, "aria-label": kind });
    input.value = now;
    return [input, h("div", { class: "choices" },
      h("button", { type: "button", onclick: () => close() }, "Cancel"),
      h("button", { type: "button", class: "main", onclick: () => close({ text: input.value.trim() }) }, "Save"))];
  });
  if (!text || text.text === now) return;
  await store.label([details.id], text.text ? { [kind]: text.text } : { clear: [kind] });
}

/** Pictures that look alike, as a strip of links. */
export async function alikeStrip(id) {
  let found;
  try {
    found = await get(`/pictures/${id}/similar`, { limit: 12 });
  } catch {
    return null; // before any picture has been looked at, nothing is alike
  }
  if (!found.found.length) return null;
  return [h("h2", {}, "Looks like"), h("div", { class: "strip" }, found.found.map((one) =>
    h("a", { href: address({ ...read(), view: "picture", part: [String(one.id)] }) },
      h("img", { src: thumbnail(one.key), alt: fileName(one.path), loading: "lazy", decoding: "async" })))),
  h("div", { class: "actions" }, h("button", { type: "button", onclick: () => likeThis(id) }, "Find more like this"))];
}

async function likeThis(id) {
  const details = await told(() => get(`/pictures/${id}`));
  if (!details) return;
  const [path] = details.paths; // a name that a query cannot hold: then by content
  const named = path && !/["\s()]/.test(path) ? path : details.key.slice(0, 16);
  go({ view: "pictures", part: [], q: `like:${named}`, ...NO_FILTERS, sort: null });
}
