// Tables that become lists of labelled values where there is no room for columns. Their roles are
// written out, since a browser forgets them when CSS lays a table out otherwise.

import { clock, count, make, put, time } from "./format.js";

function newTable(caption, columns) {
  const head = make("tr", { role: "row" });
  for (const column of columns) head.append(make("th", { role: "columnheader", scope: "col" }, column));
  return make("table", { role: "table" }, make("caption", {}, caption),
    make("thead", { role: "rowgroup" }, head), make("tbody", { role: "rowgroup" }));
}

function newRow(columns) {
  const row = make("tr", { role: "row" });
  columns.forEach((column, i) => {
    row.append(make(i === 0 ? "th" : "td",
      { role: i === 0 ? "rowheader" : "cell", scope: i === 0 ? "row" : null, "data-label": column }));
  });
  return row;
}

function fillRow(row, { key, cells, button }) {
  cells.forEach((cell, i) => put(row.children[i], cell));
  if (!button) return;
  // The text of the first cell was put anew, or the button of the same row is still good.
  const old = row.querySelector("button");
  if (old && row.dataset.key === key) return;
  old?.remove();
  row.dataset.key = key;
  const element = make("button", { type: "button", "aria-label": button.label }, button.text);
  element.addEventListener("click", () => button.act());
  row.children[row.children.length - 1].append(" ", element);
}

/** Rows are changed where they stand, so that nothing that is read or selected jumps. */
export function fillTable(box, caption, columns, rows, nothing) {
  const wanted = rows.some((row) => row.button) ? [...columns, "Change"] : columns;
  if (box.dataset.columns !== wanted.join()) {
    box.dataset.columns = wanted.join();
    box.replaceChildren(newTable(caption, wanted), make("p", { class: "nothing" }, nothing));
  }
  const [table, empty] = box.children;
  const body = table.querySelector("tbody");
  table.hidden = rows.length === 0;
  empty.hidden = rows.length > 0;
  while (body.children.length > rows.length) body.lastChild.remove();
  while (body.children.length < rows.length) body.append(newRow(wanted));
  rows.forEach((row, i) => fillRow(body.children[i], row));
}

// The younger ones come and go too fast to be read.
const HOLDERS_SHOWN = 12;
const HOLDER_COLUMNS = ["Age", "Workload", "State", "Client", "Statement", "PostgreSQL"];

function holderRow(holder) {
  const who = holder.application_name ? `${holder.application_name}, ${holder.client}` : holder.client;
  const blocked = holder.waits_for.length > 0 ? `, waits for ${holder.waits_for.join(", ")}` : "";
  return {
    cells: [time(holder.age_seconds), holder.workload,
      `${holder.state.replaceAll("_", " ")} ${time(holder.state_seconds)}${blocked}`, who,
      holder.statement || "–", `${holder.user}@${holder.database} ${holder.pid || ""}`],
  };
}

export function showHolders(box, holders) {
  const caption = "The oldest first; literals of statements are not shown";
  const shown = holders.oldest.slice(0, HOLDERS_SHOWN);
  const younger = holders.left_out + holders.oldest.length - shown.length;
  fillTable(box, caption, HOLDER_COLUMNS, shown.map(holderRow), "Nobody holds a permit.");
  let more = box.querySelector(".more");
  if (!more) box.append((more = make("p", { class: "more" })));
  put(more, younger > 0 ? `and ${count(younger)} younger` : "");
}

const POOL_COLUMNS = ["Database", "User", "Backends", "Busy", "Idle", "Connecting", "Waiting", "Sessions"];

function poolCells(name, user, backends, limit, waiting, sessions) {
  const all = Object.values(backends).reduce((sum, each) => sum + each, 0);
  const busy = backends.lent + backends.pinned;
  const lost = backends.orphaned > 0 ? `, ${backends.orphaned} orphaned` : "";
  return [name, user, limit === null ? `${all}` : `${all} of ${limit}${lost}`, `${busy}`,
    `${backends.idle}`, `${backends.connecting}`, `${waiting}`, sessions];
}

export function showPools(box, databases, pools) {
  const rows = [];
  for (const database of databases) {
    const state = database.paused ? ": ▲ paused" : database.reachable ? "" : ": ✕ cannot be reached";
    const name = `entry ${database.name}${state}`;
    rows.push({ cells: poolCells(name, "all", database.backends, database.pool_size, database.waiting, "–") });
    for (const pool of pools.filter((each) => each.entry === database.name)) {
      rows.push({ cells: poolCells(pool.database, pool.user, pool.backends, null, pool.waiting,
        `${pool.sessions}`) });
    }
  }
  fillTable(box, "Backends of each entry, and of each database and user in it", POOL_COLUMNS, rows,
    "No databases.");
}

const EVENT_WORDS = {
  started: "● started",
  overload_began: "✕ overload began",
  overload_ended: "✓ overload ended",
  reloaded: "● file loaded",
  reload_failed: "✕ file refused",
  changed: "● changed",
  backend_down: "✕ PostgreSQL unreachable",
  backend_up: "✓ PostgreSQL back",
  draining: "▲ draining",
};

export function eventWords(event) {
  return EVENT_WORDS[event.kind] ?? event.kind;
}

/** `events`: the newest first. */
export function showEvents(list, events) {
  const newest = events[0] ? `${events[0].at} ${events[0].number} ${events.length}` : "";
  if (list.dataset.newest === newest) return;
  list.dataset.newest = newest;
  list.replaceChildren(...events.map((event) => make("li", { class: event.trouble ? "trouble" : null },
    make("time", { datetime: new Date(event.at * 1000).toISOString() }, clock(event.at)),
    make("strong", {}, eventWords(event)),
    make("span", {}, [event.subject, event.text].filter(Boolean).join(": ")))));
}
