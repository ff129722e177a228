// What the page remembers of each workload: three minutes for the charts, and how fast counters grow.

const POINTS = 180;
// Rates are over this many frames: a burst is seen, and one refusal does not flicker.
const RATE_FRAMES = 10;

function sum(counts) {
  return Object.values(counts).reduce((all, each) => all + each, 0);
}

class Past {
  constructor() {
    this.at = [];
    this.running = [];
    this.waiting = [];
    this.refused = []; // per second, or null
    this.books = []; // the counters of the last frames
  }

  note(at, workload) {
    const book = { at, admitted: workload.admitted, rejected: workload.rejected,
      wouldReject: workload.would_reject };
    const before = this.books.at(-1);
    const span = before ? Math.max(at - before.at, 0.001) : 1;
    const refused = before ? Math.max(0, sum(book.rejected) - sum(before.rejected)) / span : 0;
    this.at.push(at);
    this.running.push(workload.running);
    this.waiting.push(workload.waiting);
    this.refused.push(refused);
    this.books.push(book);
    for (const list of [this.at, this.running, this.waiting, this.refused]) {
      if (list.length > POINTS) list.shift();
    }
    if (this.books.length > RATE_FRAMES + 1) this.books.shift();
  }

  /** Nobody knows what was while the proxy could not be seen. */
  gap(at) {
    if (this.at.length === 0) return;
    this.at.push(at);
    for (const list of [this.running, this.waiting, this.refused]) list.push(null);
  }

  rates() {
    const first = this.books[0];
    const last = this.books.at(-1);
    const span = Math.max(last.at - first.at, 0.001);
    const grown = (now, then) => {
      const result = {};
      for (const [word, value] of Object.entries(now)) {
        result[word] = Math.max(0, value - (then[word] ?? 0)) / span;
      }
      return result;
    };
    const rejected = grown(last.rejected, first.rejected);
    const wouldReject = grown(last.wouldReject, first.wouldReject);
    return {
      admitted: Math.max(0, last.admitted - first.admitted) / span,
      rejected,
      refused: sum(rejected),
      wouldRefuse: sum(wouldReject),
    };
  }
}

export class History {
  #pasts = new Map();
  #instance = null;

  /** Returns true when the proxy is another one than before. */
  note(state) {
    const restarted = this.#instance !== null && this.#instance !== state.instance;
    this.#instance = state.instance;
    for (const workload of state.workloads) {
      let past = this.#pasts.get(workload.name);
      if (!past) this.#pasts.set(workload.name, (past = new Past()));
      if (restarted) {
        past.gap(state.at - 0.001);
        past.books = [];
      }
      past.note(state.at, workload);
    }
    const names = new Set(state.workloads.map((each) => each.name));
    for (const name of this.#pasts.keys()) {
      if (!names.has(name)) this.#pasts.delete(name);
    }
    return restarted;
  }

  of(name) {
    return this.#pasts.get(name);
  }
}
