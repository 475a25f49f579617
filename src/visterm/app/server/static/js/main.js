// Starts the page: the frame, the views, the keys, and what the server tells.

import { decideNumber } from "./about.js";
import { listen, post } from "./api.js";
import { fill, h } from "./dom.js";
import { redo, undo } from "./history.js";
import { heardOfJob, jobsButton } from "./jobs.js";
import { listenToKeys, showKeys } from "./keys.js";
import { lookAt, takePictures } from "./look.js";
import { give } from "./naming.js";
import { told } from "./notices.js";
import { PicturesView } from "./pictures-view.js";
import { searchBox } from "./search-box.js";
import { address, go, read } from "./state.js";
import { store } from "./store.js";
import { startTheme, toggleTheme } from "./theme.js";
import { Viewer } from "./viewer.js";

const VIEWS = [["pictures", "Pictures"]];
const main = document.getElementById("main");
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
  fill(document.getElementById("tools"),
    jobsButton(),
    h("button", { type: "button", class: "quiet icon", title: "Undo (z)", "aria-label": "Undo", onclick: undo }, "↶"),
    h("button", { type: "button", class: "quiet icon", title: "Redo (shift + z)", "aria-label": "Redo", onclick: redo }, "↷"),
    h("button", { type: "button", class: "quiet wide", title: "All keys (?)", onclick: showKeys }, "Keys"),
    h("button", { type: "button", class: "quiet icon", title: "Light or dark (d)", "aria-label": "Light or dark", onclick: toggleTheme }, "◐"));
}

function views() {
  const { view } = read();
  fill(document.getElementById("views"), VIEWS.map(([name, text]) =>
    h("a", { href: `#/${name}`, "aria-current": (view === name || (name === "pictures" && view === "picture")) && "page" }, text)));
  if (store.collection) document.title = `${store.collection.name} – Visterm`;
}

/** Shows what the address names. */
async function route() {
  const state = read();
  views();
  search.show();
  if (!pictures) {
    pictures = new PicturesView();
    fill(main, pictures.element);
  }
  if (state.view === "picture" && Number(state.part[0])) {
    if (!viewer) {
      viewer = new Viewer();
      document.body.append(viewer.element);
    }
    await Promise.all([pictures.load(), viewer.show(Number(state.part[0]))]);
    return;
  }
  if (viewer) {
    const at = store.list.ids.indexOf(viewer.id);
    viewer.close();
    viewer = null;
    if (at >= 0) pictures.grid.focus(at);
    pictures.grid.element.focus({ preventScroll: true });
  }
  await pictures.load();
}

const chosen = () => (viewer ? [viewer.id] : [...store.selected]);
const decide = (n, state) => {
  const ids = chosen();
  if (ids.length !== 1) return false;
  decideNumber(ids[0], n, state);
  return true;
};

listenToKeys({
  "/": () => search.focus(),
  "?": () => { showKeys(); },
  back: () => { if (viewer) viewer.leave(); else if (store.selected.size) store.select([]); else return false; return true; },
  left: () => (viewer ? viewer.step(-1) : false), right: () => (viewer ? viewer.step(1) : false),
  h: () => (viewer ? viewer.step(-1) : false), l: () => (viewer ? viewer.step(1) : false),
  accept: (n) => decide(n, "accepted"), reject: (n) => decide(n, "rejected"),
  t: () => { give("tag", chosen()); }, c: () => { give("class", chosen()); },
  undo: () => { undo(); }, redo: () => { redo(); }, d: () => toggleTheme(),
  "go p": () => go({ view: "pictures", part: [] }), "go r": () => go({ view: "review", part: [] }),
});

startTheme();
frame();
takePictures();
await enter();
addEventListener("hashchange", () => told(route));
store.addEventListener("collection", views);
if (!location.hash || location.hash === "#") history.replaceState(null, "", address({ ...read(), view: "pictures" }));
await told(route);
await told(() => store.refreshCollection());
let changes = null;
listen((name, data) => {
  if (name === "job") { heardOfJob(data); return; }
  if (changes !== null && data.changes !== changes) {
    told(() => store.refreshCollection());
    pictures?.facets.refresh();
  }
  changes = data.changes;
});
document.documentElement.dataset.ready = "";
