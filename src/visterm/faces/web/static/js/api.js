// The REST API: the only way in which this page asks for anything.

const ROOT = "/api/v1";

/** What went wrong, in words for a person; `problem` is the whole document. */
export class ApiError extends Error {
  constructor(problem) {
    super(problem.detail || "It failed.");
    this.problem = problem;
    this.status = problem.status;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(ROOT + path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError({ status: 0, detail: "Visterm does not answer. Is 'visterm serve' still running?" });
  }
  if (response.ok) return response.json();
  let problem;
  try {
    problem = await response.json();
  } catch {
    problem = { status: response.status, detail: `It failed (${response.status}).` };
  }
  if (response.status === 401) problem.detail = "This page needs its token. Open it with the address that 'visterm serve' showed.";
  throw new ApiError(problem);
}

const written = (parameters) => {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") query.append(key, one);
    }
  }
  const text = query.toString();
  return text ? `?${text}` : "";
};

export const get = (path, parameters = {}, signal = undefined) => ask(path + written(parameters), { signal });

export const post = (path, body = {}) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

export const look = (file) =>
  ask("/look", { method: "POST", headers: { "Content-Type": file.type || "application/octet-stream" }, body: file });

const AGAIN_MILLISECONDS = 2000;

/** Calls `heard` with (name, data) for every event of the server, and with ("lost" or "here") about the connection. */
export function listen(heard) {
  const source = new EventSource(`${ROOT}/events`);
  for (const name of ["changed", "job"]) {
    source.addEventListener(name, (event) => heard(name, JSON.parse(event.data)));
  }
  source.addEventListener("open", () => heard("here"));
  source.addEventListener("error", () => {
    heard("lost");
    source.close();
    setTimeout(() => listen(heard), AGAIN_MILLISECONDS);
  });
  addEventListener("pagehide", () => source.close());
}
