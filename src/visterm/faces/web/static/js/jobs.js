// Long work: what is going on, how far it is, and how to stop it.

import { get, post } from "./api.js";
import { fill, h } from "./dom.js";
import { dialog, notice, told } from "./notices.js";
import { store } from "./store.js";

const jobs = new Map();
let button;
let open = null;

export function jobsButton() {
  button = h("button", { type: "button", class: "quiet job-button", onclick: show });
  draw();
  return button;
}

/** Hears of a job from the server. */
export function heardOfJob(job) {
  const before = jobs.get(job.id);
  jobs.set(job.id, job);
  draw();
  if (before?.state === "running" && job.state !== "running") ended(job);
}

function ended(job) {
  if (job.state === "done") {
    store.refreshCollection();
    if (job.kind === "train") { // new suggestions, but nothing moves under a person's eyes
      notice("Learned from your labels. There are new suggestions.", { action: { label: "Show them", run: reload }, seconds: 20 });
      return;
    }
    notice(`${job.title}: done.`);
    reload();
  } else if (job.state === "failed") {
    notice(`${job.title}: ${job.error || "it failed"}`, { bad: true });
  }
}

function reload() {
  store.forgetLabels();
  store.tell("reload");
}

export const startJob = (kind, more = {}) => told(async () => heardOfJob(await post("/jobs", { kind, ...more })));

export const isLearning = () => [...jobs.values()].some((job) => job.kind === "train" && job.state === "running");

const listed = () => [...jobs.values()].sort((a, b) => b.id - a.id);

function draw() {
  const running = listed().find((job) => job.state === "running");
  fill(button, running ? running.title : "Add, learn", running?.step ? bar(running.step) : null);
  if (open) open();
}

const bar = (step) => h("progress", { "aria-label": step.task, ...(step.total ? { max: step.total, value: step.done } : {}) });

const WORDS = { running: "", done: "done", failed: "failed", cancelled: "stopped", interrupted: "interrupted" };

async function show() {
  for (const job of (await told(() => get("/jobs"))) || []) jobs.set(job.id, job);
  await dialog("Add pictures, learn from labels", (close) => {
    const list = h("div");
    open = () => fill(list, listed().length ? listed().slice(0, 8).map(row) : h("p", { class: "soft" }, "Nothing has been started since this server began."));
    open();
    return [list, h("div", { class: "choices" },
      h("button", { type: "button", onclick: () => startJob("add") }, "Look for new pictures"),
      h("button", { type: "button", class: "main", onclick: () => startJob("train") }, "Learn from my labels"),
      h("button", { type: "button", onclick: () => close() }, "Close"))];
  });
  open = null;
}

function row(job) {
  return h("div", { class: "job" },
    h("div", {}, h("strong", {}, job.title), " ", h("span", { class: "soft" }, [WORDS[job.state], new Date(1000 * job.started).toLocaleTimeString()].filter(Boolean).join(", "))),
    job.step ? [h("p", { class: "soft" }, job.step.task), bar(job.step)] : null,
    job.error ? h("p", {}, job.error) : null,
    outcomes(job).map((line) => h("p", { class: "soft" }, line)),
    job.notes.slice(-3).map((note) => h("p", { class: "soft" }, note)),
    job.state === "running" ? h("button", { type: "button", onclick: () => told(() => post(`/jobs/${job.id}/cancel`)) }, "Stop") : null);
}

/** What training came to, in words. */
const outcomes = (job) => (job.result?.outcomes || []).map((one) => `${one.what}: ${one.figure?.words ?? one.reason}`);
