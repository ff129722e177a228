// Changing a workload: the difference is shown first, then it is applied. The token is kept in this
// page's memory and nowhere else.

import { durationWord, make } from "./format.js";

const FIELDS = ["concurrency", "queue", "queue_wait", "mode"];

export class Change {
  #dialog = document.getElementById("change");
  #form = document.getElementById("change-form");
  #difference = document.getElementById("change-difference");
  #apply = document.getElementById("change-apply");
  #token = document.getElementById("change-token");
  #workload = null;
  #before = {};

  constructor() {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask(true);
    });
    this.#form.addEventListener("input", () => this.#forget());
    this.#apply.addEventListener("click", () => this.#ask(false));
    document.getElementById("change-cancel").addEventListener("click", () => this.#dialog.close());
  }

  open(workload) {
    this.#workload = workload.name;
    this.#before = {
      concurrency: String(workload.concurrency),
      queue: String(workload.queue),
      queue_wait: durationWord(workload.queue_wait_seconds),
      mode: workload.mode,
    };
    document.getElementById("change-title").textContent = `Change ${workload.name}`;
    for (const name of FIELDS) this.#form.elements[name].value = this.#before[name];
    this.#forget();
    this.#dialog.showModal();
    this.#form.elements.concurrency.select();
  }

  // What was shown is no longer what would be applied.
  #forget() {
    this.#difference.replaceChildren();
    this.#apply.hidden = true;
  }

  #wanted() {
    const wanted = {};
    for (const name of FIELDS) {
      const value = this.#form.elements[name].value.trim();
      if (value === this.#before[name]) continue;
      wanted[name] = name === "concurrency" || name === "queue" ? Number(value) : value;
    }
    return wanted;
  }

  async #ask(dryRun) {
    const wanted = this.#wanted();
    if (Object.keys(wanted).length === 0) return this.#say("Nothing is different.");
    try {
      const reply = await fetch(`/api/v1/workloads/${encodeURIComponent(this.#workload)}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${this.#token.value}` },
        body: JSON.stringify({ ...wanted, dry_run: dryRun }),
      });
      const text = await reply.text();
      if (!reply.headers.get("Content-Type")?.startsWith("application/json")) return this.#say(text);
      this.#show(JSON.parse(text), dryRun);
    } catch {
      this.#say("The proxy does not answer.");
    }
  }

  #say(text) {
    this.#forget();
    this.#difference.append(make("p", {}, text));
  }

  #show(answer, dryRun) {
    if (answer.message) return this.#say([answer.message, answer.suggestion].filter(Boolean).join(" – "));
    this.#forget();
    const head = dryRun ? "This will change:" : "In force:";
    if (answer.changes.length === 0) return this.#say("Nothing is different.");
    this.#difference.append(make("p", {}, head), make("ul", {}, ...answer.changes.map((change) =>
      make("li", {}, make("code", {}, change.key), ` ${change.before} → `, make("strong", {}, change.after)))));
    for (const warning of answer.warnings) this.#difference.append(make("p", { class: "warning" }, `▲ ${warning}`));
    if (dryRun) {
      this.#apply.hidden = false;
      this.#apply.focus();
    } else {
      for (const name of FIELDS) this.#before[name] = this.#form.elements[name].value.trim();
      document.getElementById("change-cancel").focus();
    }
  }
}
