// The workloads: cards with charts, or a plain table of the same.

import { Chart } from "./charts.js";
import { count, make, put, rate, setAttribute, time } from "./format.js";
import { fillTable } from "./tables.js";

const WORDS = {
  refusing: "✕ refusing",
  would: "◇ would refuse",
  queueing: "▲ queueing",
  full: "■ full",
  working: "● working",
  idle: "○ idle",
};

/** What a workload is doing, the worst first. */
export function conditionOf(workload, rates) {
  if (rates.refused > 0) return "refusing";
  if (workload.mode === "shadow" && rates.wouldRefuse > 0) return "would";
  if (workload.waiting > 0) return "queueing";
  if (workload.mode === "enforce" && workload.running >= workload.concurrency) return "full";
  return workload.running > 0 ? "working" : "idle";
}

function title(workload) {
  if (workload.housekeeping) return "housekeeping";
  return workload.listed ? workload.name : `${workload.name} (removed)`;
}

function twoTimes(times) {
  return times.count === 0 ? "–" : `${time(times.p50)} / ${time(times.p99)}`;
}

/** Reasons with how fast they grow, those that ever happened. */
function reasons(workload, rates) {
  const shadow = workload.mode === "shadow";
  const totals = Object.entries(shadow ? workload.would_reject : workload.rejected);
  return totals
    .filter(([, total]) => total > 0)
    .map(([word, total]) => ({ word, total, now: shadow ? null : rates.rejected[word] ?? 0 }));
}

class Bar {
  constructor(kind) {
    this.fill = make("span", { class: "fill" });
    this.track = make("div", { class: `bar ${kind}`, role: "meter", "aria-valuemin": 0 }, this.fill);
    this.words = make("span", { class: "bar-words" });
    this.element = make("div", { class: "bar-row" }, this.track, this.words);
  }

  show(label, value, limit, words) {
    const part = limit > 0 ? Math.min(value / limit, 1) : value > 0 ? 1 : 0;
    this.fill.style.width = `${part * 100}%`;
    this.track.classList.toggle("over", limit > 0 ? value >= limit : value > 0);
    this.track.style.setProperty("--cells", limit > 0 && limit <= 40 ? limit : 1);
    setAttribute(this.track, "aria-label", label);
    setAttribute(this.track, "aria-valuemax", Math.max(limit, value, 1));
    setAttribute(this.track, "aria-valuenow", value);
    setAttribute(this.track, "aria-valuetext", words);
    put(this.words, words);
  }
}

class Card {
  constructor(workload, onChange) {
    const id = `workload-${workload.name.replace(/[^A-Za-z0-9_-]/g, "_")}`;
    this.name = make("h3", { id });
    this.condition = make("span", { class: "condition" });
    this.mode = make("span", { class: "mode" });
    this.budget = new Bar("running");
    this.queue = new Bar("waiting");
    this.chart = make("div", { class: "chart" });
    this.figures = make("dl", { class: "figures" });
    this.values = ["refused", "admitted", "wait p50 / p99", "hold p50 / p99"].map((word) => {
      const value = make("dd");
      this.figures.append(make("div", {}, make("dt", {}, word), value));
      return value;
    });
    this.reasons = make("ul", { class: "reasons" });
    this.more = make("p", { class: "more" });
    this.button = make("button", { type: "button", "aria-label": `Change ${workload.name}` }, "Change");
    this.button.hidden = workload.housekeeping || !workload.listed;
    this.button.addEventListener("click", () => onChange(this.workload));
    this.element = make("li", {}, make("article", { class: "card", "aria-labelledby": id },
      make("div", { class: "card-top" }, this.name, this.button,
        make("div", { class: "card-state" }, this.condition, this.mode)),
      this.budget.element, this.queue.element, this.chart, this.figures, this.reasons, this.more));
    this.plot = new Chart(this.chart);
  }

  show(workload, past, rates, charts) {
    this.workload = workload;
    const condition = conditionOf(workload, rates);
    this.element.firstChild.dataset.condition = condition;
    put(this.name, title(workload));
    put(this.condition, WORDS[condition]);
    put(this.mode, workload.mode);
    this.#bars(workload);
    this.chart.hidden = !charts || workload.housekeeping;
    if (!this.chart.hidden) this.plot.show(past);
    const shadow = workload.mode === "shadow";
    const texts = [
      shadow ? `${rate(rates.wouldRefuse)} (would)` : rate(rates.refused),
      rate(rates.admitted), twoTimes(workload.wait_seconds), twoTimes(workload.hold_seconds),
    ];
    texts.forEach((text, i) => put(this.values[i], text));
    this.#reasons(workload, rates);
    const more = [];
    if (workload.parked > 0) more.push(`${count(workload.parked)} parked`);
    if (workload.pinned > 0) more.push(`${count(workload.pinned)} pinned`);
    if (workload.orphaned > 0) more.push(`${count(workload.orphaned)} orphaned`);
    more.push(`peak ${count(workload.peak_running)} running, ${count(workload.peak_waiting)} waiting`);
    const waits = workload.queue > 0 && workload.queue_wait_seconds > 0;
    more.push(waits ? `waits ${time(workload.queue_wait_seconds)} at most` : "does not wait");
    put(this.more, more.join(" · "));
  }

  #bars(workload) {
    const free = workload.mode === "off";
    this.budget.show("Running of the budget", workload.running, free ? 0 : workload.concurrency,
      `${count(workload.running)} of ${free ? "any" : count(workload.concurrency)} running`);
    this.queue.show("Waiting of the queue", workload.waiting, workload.queue,
      `${count(workload.waiting)} of ${count(workload.queue)} waiting`);
  }

  #reasons(workload, rates) {
    const all = reasons(workload, rates);
    while (this.reasons.children.length > all.length) this.reasons.lastChild.remove();
    while (this.reasons.children.length < all.length) this.reasons.append(make("li"));
    all.forEach((each, i) => {
      const now = each.now > 0 ? `${rate(each.now)}, ` : "";
      put(this.reasons.children[i], `${each.word}: ${now}${count(each.total)} in all`);
      this.reasons.children[i].classList.toggle("now", each.now > 0);
    });
    this.reasons.hidden = all.length === 0;
  }
}

const COLUMNS = ["Workload", "State", "Mode", "Running", "Waiting", "Refused", "Admitted",
  "Wait p50 / p99", "Hold p50 / p99", "Refusals by reason"];

export class Workloads {
  #cards = new Map();

  constructor(list, plain, onChange) {
    this.list = list;
    this.plain = plain;
    this.onChange = onChange;
  }

  show(workloads, history, charts) {
    // That of housekeeping is of interest only to whoever looks for it.
    const ordered = [...workloads].sort((a, b) => a.housekeeping - b.housekeeping);
    this.list.hidden = !charts;
    this.plain.hidden = charts;
    if (!charts) return this.#showTable(ordered, history);
    const names = new Set(ordered.map((each) => each.name));
    for (const [name, card] of this.#cards) {
      if (names.has(name)) continue;
      card.element.remove();
      this.#cards.delete(name);
    }
    for (const workload of ordered) {
      let card = this.#cards.get(workload.name);
      if (!card) {
        card = new Card(workload, this.onChange);
        this.#cards.set(workload.name, card);
        this.list.append(card.element);
      }
      const past = history.of(workload.name);
      card.show(workload, past, past.rates(), charts);
    }
  }

  #showTable(ordered, history) {
    const rows = ordered.map((workload) => {
      const rates = history.of(workload.name).rates();
      const all = reasons(workload, rates).map((each) => `${each.word} ${count(each.total)}`);
      return {
        key: workload.name,
        cells: [title(workload), WORDS[conditionOf(workload, rates)], workload.mode,
          `${workload.running} of ${workload.concurrency}`, `${workload.waiting} of ${workload.queue}`,
          rate(rates.refused), rate(rates.admitted), twoTimes(workload.wait_seconds),
          twoTimes(workload.hold_seconds), all.join(", ") || "none"],
        button: workload.housekeeping || !workload.listed ? null
          : { text: "Change", label: `Change ${workload.name}`, act: () => this.onChange(workload) },
      };
    });
    fillTable(this.plain, "Workloads: what each is doing", COLUMNS, rows, "No workloads");
  }
}
