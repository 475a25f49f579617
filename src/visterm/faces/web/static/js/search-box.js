// The search box: words, completion while typing, recent and kept searches, a picture dropped or pasted.

import { get, post } from "./api.js";
import { completing } from "./completing.js";
import { h } from "./dom.js";
import { notice, told } from "./notices.js";
import { go, read } from "./state.js";

const RECENT = "recent-searches";
const MOST_RECENT = 8;

export function searchBox(form, { lookAt }) {
  const input = h("input", {
    type: "search", "aria-label": "Search your pictures", spellcheck: "false", enterkeyhint: "search",
    placeholder: matchMedia("(max-width: 640px)").matches ? "Search" : "Search: boat sunset -people",
  });
  const field = h("div", { class: "search-field" }, input);
  const keeping = h("button", { type: "button", class: "quiet wide", onclick: keep }, "Save search");
  let kept = [];
  const file = h("input", { type: "file", accept: "image/*", hidden: true, "aria-label": "A picture to search by" });
  file.addEventListener("change", () => { if (file.files[0]) lookAt(file.files[0]); file.value = ""; });
  form.append(
    field,
    h("button", { type: "button", class: "quiet wide", title: "Choose a picture from outside; or drop or paste one", onclick: () => file.click() }, "Search by picture"),
    keeping,
    file,
  );
  form.addEventListener("submit", (event) => { event.preventDefault(); search(input.value); });

  const box = completing(input, {
    find: async (text) => {
      if (!text.trim()) return remembered();
      const { start, found } = await get("/complete", { text });
      return found.map((item) => ({ ...item, start }));
    },
    take: (item) => {
      if (item.whole) { input.value = item.text; search(item.text); return; }
      const quoted = item.kind !== "field" && /\s/.test(item.text) ? `"${item.text}"` : item.text;
      input.value = `${input.value.slice(0, item.start)}${quoted}${item.kind === "field" ? "" : " "}`;
      input.dispatchEvent(new Event("input"));
    },
    done: search,
  });

  function search(text) {
    const query = text.trim().replace(/\s+/g, " ");
    if (query) remember(query);
    box.close();
    go({ view: "pictures", part: [], q: query || null, sort: null });
    if (query) input.blur();
  }

  /** Keeps the search, or forgets it if it is kept. */
  async function keep() {
    const query = input.value.trim().replace(/\s+/g, " ");
    if (!query) { notice("Type a search first."); return; }
    const forget = kept.includes(query);
    const now = await told(() => post(forget ? "/searches/forget" : "/searches", { query }));
    if (!now) return;
    kept = now.queries;
    notice(forget ? `Forgotten: ${query}` : `Saved: ${query}`);
    showKept();
  }

  function showKept() {
    const query = read().q;
    keeping.hidden = !query;
    const known = kept.includes(query);
    keeping.textContent = known ? "Saved ✓" : "Save search";
    keeping.title = known ? "Forget this search" : "It is offered when the search box is empty";
  }

  async function remembered() {
    const recent = JSON.parse(localStorage.getItem(RECENT) || "[]");
    kept = (await get("/searches")).queries;
    showKept();
    return [
      ...(kept.length ? [{ heading: "Saved" }, ...kept.map((text) => ({ text, whole: true }))] : []),
      ...(recent.length ? [{ heading: "Recent" }, ...recent.map((text) => ({ text, whole: true }))] : []),
    ];
  }

  function remember(query) {
    const recent = JSON.parse(localStorage.getItem(RECENT) || "[]").filter((text) => text !== query);
    localStorage.setItem(RECENT, JSON.stringify([query, ...recent].slice(0, MOST_RECENT)));
  }

  return {
    focus: () => { input.focus(); input.select(); },
    show: () => { if (document.activeElement !== input) input.value = read().q || ""; showKept(); },
    byPicture: () => file.click(),
    keep,
  };
}
