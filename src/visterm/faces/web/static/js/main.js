// Starts the page: the frame, the views, the keys, and what the server tells.

import { decideNumber, denyAll } from "./about.js";
import { listen, post } from "./api.js";
import { byTouch, fill, h, settled } from "./dom.js";
import { redo, undo } from "./history.js";
import { heardOfJob, jobsButton } from "./jobs.js";
import { learnOffer } from "./learn-offer.js";
import { listenToKeys, showKeys } from "./keys.js";
import { lookAt, takePictures } from "./look.js";
import { give } from "./naming.js";
import { dialog, standing, told } from "./notices.js";
import { PicturesView } from "./pictures-view.js";
import { searchBox } from "./search-box.js";
import { address, go, read } from "./state.js";
import { store } from "./store.js";
import { startTheme, toggleTheme } from "./theme.js";
import { Viewer } from "./viewer.js";
import { VIEWS } from "./views.js";

const main = document.getElementById("main");
const made = new Map(); // views by name, made when they are first shown
let pictures = null;
let viewer = null;
let search;

/** A token in the address is exchanged for a cookie once, and leaves the address. */
async function enter() {
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (!token) return;
  history.replaceState(null, "", "#/pictures");
  await told(() => post("/session", { token: decodeURIComponent(token) }));
}

function frame() {
  search = searchBox(document.getElementById("search"), { lookAt });
  document.querySelector("header.top").append(learnOffer());
  fill(document.getElementById("tools"),
    jobsButton(),
    h("button", { type: "button", class: "quiet", title: "Undo (z)", onclick: () => undo() }, "Undo"),
    h("button", { type: "button", class: "quiet wide", title: "Redo (shift + z)", onclick: () => redo() }, "Redo"),
    h("button", { type: "button", class: "quiet wide for-keys", title: "All keys (?)", onclick: showKeys }, "Keys"),
    h("button", { type: "button", class: "quiet icon wide", title: "Light or dark (d)", "aria-label": "Light or dark", onclick: toggleTheme }, "◐"),
    h("button", { type: "button", class: "quiet icon narrow", "aria-label": "More", onclick: showMore }, "⋯"));
}

/** What has no room on a narrow screen. */
function showMore() {
  dialog("More", (close) => h("div", { class: "menu" }, [
    ["Search by a picture", search.byPicture], ["Save this search", search.keep], ["Redo", redo], ["Light or dark", toggleTheme], ...(byTouch() ? [] : [["Keys", showKeys]]), ["Close", () => {}],
  ].map(([text, run]) => h("button", { type: "button", class: "quiet", onclick: () => { close(); run(); } }, text))));
}

function views() {
  const { view } = read();
  fill(document.getElementById("views"), VIEWS.map(({ name, word, waiting = () => 0 }) =>
    h("a", { href: `#/${name}`, "aria-current": (view === name || (name === "pictures" && view === "picture")) && "page" },
      word, waiting() ? h("span", { class: "count" }, waiting().toLocaleString("en")) : null)));
  if (store.collection) document.title = `${store.collection.name} – Visterm`;
}

function viewOf(name, View) {
  if (!made.has(name)) {
    made.set(name, new View());
    main.append(made.get(name).element);
  }
  return made.get(name);
}

/** Shows what the address names. */
async function route() {
  const state = read();
  const own = VIEWS.find(({ name, View }) => View && name === state.view);
  views();
  search.show();
  if (viewer && state.view !== "picture") leaveViewer();
  const left = [...made].filter(([name, view]) => name !== own?.name && !view.element.hidden);
  for (const [, view] of left) view.element.hidden = true;
  if (own) {
    const shown = viewOf(own.name, own.View);
    shown.element.hidden = false;
    await shown.show();
    return;
  }
  if (left.some(([name]) => name !== "pictures")) { // labels may have changed there
    store.forgetLabels();
    store.tell("changed");
  }
  pictures = viewOf("pictures", PicturesView);
  pictures.element.hidden = false;
  if (state.view === "picture" && Number(state.part[0])) {
    if (!viewer) {
      viewer = new Viewer();
      document.body.append(viewer.element);
    }
    await Promise.all([pictures.load(), viewer.show(Number(state.part[0]))]);
    return;
  }
  await pictures.load();
}

function leaveViewer() {
  const at = store.list.ids.indexOf(viewer.id);
  viewer.close();
  viewer = null;
  if (at >= 0) pictures.grid.focus(at);
  pictures.grid.element.focus({ preventScroll: true });
}

const chosen = () => (viewer ? [viewer.id] : [...store.selected]);
const decide = (n, state) => {
  const ids = chosen();
  if (ids.length !== 1) return false;
  decideNumber(ids[0], n, state);
  return true;
};

const everywhere = {
  "/": () => search.focus(),
  "?": () => { showKeys(); },
  back: () => { if (viewer) viewer.leave(); else if (pictures?.facets.isOpen) pictures.facets.toggle(false); else if (store.selected.size) store.select([]); else return false; return true; },
  left: () => (viewer ? viewer.step(-1) : false), right: () => (viewer ? viewer.step(1) : false),
  h: () => (viewer ? viewer.step(-1) : false), l: () => (viewer ? viewer.step(1) : false),
  accept: (n) => decide(n, "accepted"), reject: (n) => decide(n, "rejected"), n: () => chosen().length === 1 && denyAll(chosen()[0]),
  t: () => { give("tag", chosen()); }, c: () => { give("class", chosen()); },
  undo: () => { undo(); }, redo: () => { redo(); }, d: () => toggleTheme(),
  ...Object.fromEntries(VIEWS.map(({ name, key }) => [`go ${key}`, () => go({ view: name, part: [] })])),
};
listenToKeys(() => [made.get(read().view)?.keys, everywhere]);

startTheme();
frame();
takePictures();
await enter();
addEventListener("hashchange", () => told(route));
store.addEventListener("collection", views);
if (!location.hash || location.hash === "#") history.replaceState(null, "", address({ ...read(), view: "pictures" }));
const shown = told(route);
told(() => store.refreshCollection());
store.addEventListener("review", views);
let changes = null;
const countReview = settled(() => { if (store.review) told(() => store.refreshReview()); }, 1500);
const changed = settled(() => {
  countReview();
  told(() => store.refreshLabels()); // another window may have changed what the cells show
  told(() => store.refreshCollection());
  if (pictures && !pictures.element.hidden) pictures.facets.refresh();
}, 300);
listen((name, data) => {
  if (name === "lost") { standing("Visterm does not answer. Is 'visterm serve' still running? This page tries again."); return; }
  if (name === "here") { standing(null); return; }
  if (name === "job") { heardOfJob(data); store.tell("collection"); return; }
  if (changes !== null && data.changes !== changes) changed();
  changes = data.changes;
});
document.documentElement.dataset.ready = "";
// What waits in review is learned from all labels, which takes a moment: the pictures come first.
await shown;
if (!store.review) told(() => store.refreshReview());
