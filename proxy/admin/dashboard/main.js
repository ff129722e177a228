// The page: one stream of states, shown as they come; what is old is shown as old.

import { Change } from "./change.js";
import { clock, put, rate, several, time } from "./format.js";
import { History } from "./history.js";
import { eventWords, showEvents, showHolders, showPools } from "./tables.js";
import { conditionOf, Workloads } from "./workloads.js";

// Frames come each second; one that is late by as much is missed.
const STALE_AFTER_MS = 3500;
// A browser gives up for good when it was answered with an error, and waits for ever for a peer that
// went without a word.
const RECONNECT_MS = 3000;
const SILENCE_MS = 15000;
const EVENTS_SHOWN = 200;

const place = (id) => document.getElementById(id);
const history = new History();
const change = new Change();
const workloads = new Workloads(place("cards"), place("plain"), (workload) => change.open(workload));
const charts = place("charts");
let state = null;
let events = [];
let seenAt = 0;
let stream = null;
let connectedAt = 0;

function worst(state) {
  const each = state.workloads.map((workload) => {
    const rates = history.of(workload.name).rates();
    return { workload, rates, condition: conditionOf(workload, rates) };
  });
  return each.filter((one) => one.condition === "refusing").sort((a, b) => b.rates.refused - a.rates.refused);
}

function holderWords(name, holders) {
  const oldest = holders.oldest.find((each) => each.workload === name);
  if (!oldest) return "";
  const who = oldest.application_name || oldest.client;
  return ` The oldest permit is held by ${who} for ${time(oldest.age_seconds)}, ` +
    `${oldest.state.replaceAll("_", " ")}.`;
}

/** In one sentence what the person on call came for. */
function verdict(state) {
  const down = state.databases.filter((each) => !each.reachable).map((each) => each.name);
  if (state.readiness === "draining") return ["warning", "Draining", "No new transactions; it is about to end."];
  if (down.length > 0) {
    return ["trouble", "PostgreSQL cannot be reached", `Of the entry ${down.join(", ")}; connects go on.`];
  }
  const paused = state.databases.filter((each) => each.paused).map((each) => each.name);
  if (paused.length > 0) return ["warning", "Paused", `By the console: the entry ${paused.join(", ")}.`];
  const refusing = worst(state);
  if (refusing.length > 0) {
    const [{ workload, rates }] = refusing;
    const reason = Object.entries(rates.rejected).sort((a, b) => b[1] - a[1])[0][0];
    const others = refusing.length > 1 ? ` ${refusing.slice(1).map((one) => one.workload.name).join(", ")} too.` : "";
    return ["trouble", `${workload.name} refuses ${rate(rates.refused)} (${reason})`,
      `${workload.running} of ${workload.concurrency} running, ${workload.waiting} of ${workload.queue} waiting.` +
      holderWords(workload.name, state.holders) + others];
  }
  const queueing = state.workloads.filter((each) => each.waiting > 0).map((each) => each.name);
  if (queueing.length > 0) return ["warning", `${queueing.join(", ")}: transactions wait`, "Nobody is refused."];
  const running = state.workloads.reduce((sum, each) => sum + each.running, 0);
  return ["calm", "Nobody is refused", `${several(running, "transaction")} in work, none waits.`];
}

function facts(state) {
  const words = [`${state.version}`, `up ${time(state.uptime_seconds)}`, several(state.clients, "client"),
    state.readiness.replaceAll("_", " ")];
  if (!state.last_reload_succeeded) words.push("the last load of the file failed");
  if (state.live_changes > 0) words.push(`${several(state.live_changes, "value")} not as in the file`);
  if (state.restart_needed > 0) words.push(`${several(state.restart_needed, "change")} for the next restart`);
  return words.join(" · ");
}

// Numbers begin anew with each start of the proxy.
function key(event) {
  return `${event.at} ${event.number}`;
}

function noteEvents(latest, isFirst) {
  const known = new Set(events.map(key));
  const fresh = latest.filter((event) => !known.has(key(event)));
  events = [...fresh, ...events].sort((a, b) => b.at - a.at).slice(0, EVENTS_SHOWN);
  if (isFirst || fresh.length === 0) return;
  put(place("news"), fresh.map((event) => [eventWords(event), event.subject, event.text].join(" ")).join(". "));
}

function show() {
  const [level, title, text] = verdict(state);
  place("verdict").dataset.level = level;
  put(place("verdict-title"), title);
  put(place("verdict-text"), text);
  put(place("facts"), facts(state));
  document.title = level === "calm" ? "pgbulkhead" : `${level === "trouble" ? "✕" : "▲"} ${title} – pgbulkhead`;
  place("legend").hidden = !charts.checked;
  workloads.show(state.workloads, history, charts.checked);
  showHolders(place("holders"), state.holders);
  showPools(place("pools"), state.databases, state.pools);
  showEvents(place("events"), events);
}

function onState(message) {
  const isFirst = state === null;
  state = JSON.parse(message.data);
  seenAt = Date.now();
  if (history.note(state)) put(place("news"), "The proxy has been restarted.");
  noteEvents(state.events, isFirst);
  showStale();
  show();
}

function showStale() {
  const box = place("stale");
  const hangs = state !== null && state.age_seconds > STALE_AFTER_MS / 1000;
  const lost = Date.now() - seenAt > STALE_AFTER_MS;
  box.hidden = !(lost || hangs);
  document.body.classList.toggle("is-stale", !box.hidden && state !== null);
  if (box.hidden) return;
  if (Date.now() - Math.max(seenAt, connectedAt) > SILENCE_MS) connect();
  const since = state === null ? "" : ` What is shown is from ${clock(state.at)}.`;
  put(box, hangs && !lost ? `▲ The proxy's loop does not turn.${since}` : `▲ The proxy does not answer; trying again.${since}`);
}

function connect() {
  stream?.close();
  connectedAt = Date.now();
  stream = new EventSource("/api/v1/events");
  stream.addEventListener("state", onState);
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) setTimeout(connect, RECONNECT_MS);
  });
}

charts.checked = localStorage.getItem("charts") !== "off";
charts.addEventListener("change", () => {
  localStorage.setItem("charts", charts.checked ? "on" : "off");
  if (state !== null) show();
});
seenAt = Date.now();
setInterval(showStale, 500);
connect();
