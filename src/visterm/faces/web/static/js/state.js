// What the page shows is in its address: every view can be bookmarked, and Back works.

const KEYS = ["q", "class", "tag", "suggested", "by", "state", "folder", "sort"];

/** The address after the #: {view, part, q, class, tag: [], ...}. */
export function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view = "pictures", ...rest] = path.split("/").filter(Boolean).map(decodeURIComponent);
  const parameters = new URLSearchParams(query);
  const state = { view: view || "pictures", part: rest };
  for (const key of KEYS) state[key] = key === "tag" ? parameters.getAll(key) : parameters.get(key);
  return state;
}

/** Goes to a state: parts that are not named stay as they are. */
export function go(changes, { replace = false } = {}) {
  const hash = address({ ...read(), ...changes });
  if (hash === location.hash) return;
  if (replace) {
    history.replaceState(null, "", hash);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = hash;
  }
}

/** The address of a state. */
export function address(state) {
  const parameters = new URLSearchParams();
  for (const key of KEYS) {
    for (const value of [state[key]].flat()) if (value !== null && value !== undefined && (value !== "" || key === "folder")) parameters.append(key, value);
  }
  const path = [state.view, ...(state.part || [])].map(encodeURIComponent).join("/");
  const query = parameters.toString();
  return `#/${path}${query ? `?${query}` : ""}`;
}

/** What narrows the list down, as the API takes it. */
export function narrowed(state) {
  const found = {};
  for (const key of KEYS) if (key !== "sort" && key !== "q" && state[key] !== null) found[key] = state[key];
  return found;
}

/** Nothing narrows the list down. */
export const NO_FILTERS = { class: null, tag: [], suggested: null, by: null, state: null, folder: null };

/** A list in another state is another list. */
export const listKey = (state) => JSON.stringify(KEYS.map((key) => state[key]));
