// Sparklines by uPlot. Where it is missing the page goes on without.

const HEIGHT = 72;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function options(width) {
  const line = (label, stroke, scale, more = {}) => ({
    label, stroke: colour(stroke), scale, width: 1.5, points: { show: false }, spanGaps: false, ...more,
  });
  // A flat line at nothing lies at the bottom, not in the middle.
  const range = (self, low, high) => [0, Math.max((high ?? 0) * 1.08, 1)];
  return {
    width,
    height: HEIGHT,
    padding: [4, 0, 2, 0],
    cursor: { show: false },
    legend: { show: false },
    axes: [{ show: false }, { show: false }, { show: false }],
    scales: { x: { time: true }, count: { range }, rate: { range } },
    series: [
      {},
      line("running", "--running", "count", { fill: colour("--running-fill") }),
      line("waiting", "--waiting", "count", { dash: [5, 3] }),
      line("refused", "--danger", "rate", { width: 2 }),
    ],
  };
}

// A line is drawn where there is something: at nothing it would look like a line of something.
function withoutNothing(values) {
  const something = (i) => i >= 0 && i < values.length && values[i] > 0;
  return values.map((each, i) => (something(i - 1) || something(i) || something(i + 1) ? each : null));
}

function peak(values) {
  return values.reduce((highest, each) => Math.max(highest, each ?? 0), 0);
}

export class Chart {
  #box;
  #plot = null;
  #data = [[], [], [], []];

  constructor(box) {
    this.#box = box;
    box.setAttribute("role", "img");
    new ResizeObserver(() => this.#resize()).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#renew());
  }

  show(past) {
    this.#data = [past.at, past.running, withoutNothing(past.waiting), withoutNothing(past.refused)];
    this.#box.setAttribute("aria-label",
      `The last three minutes: running up to ${peak(past.running)}, waiting up to ` +
      `${peak(past.waiting)}, refused up to ${Math.round(peak(past.refused))} a second`);
    if (this.#plot) {
      this.#plot.setData(this.#data);
    } else {
      this.#renew();
    }
  }

  #renew() {
    const width = this.#box.clientWidth;
    if (!window.uPlot || width === 0) return;
    this.#plot?.destroy();
    this.#plot = new window.uPlot(options(width), this.#data, this.#box);
  }

  #resize() {
    if (this.#plot && this.#box.clientWidth > 0) {
      this.#plot.setSize({ width: this.#box.clientWidth, height: HEIGHT });
    }
  }
}
