// How values look, and how elements are made. Texts go in as text nodes only: whatever a client calls
// itself stays a text.

const numbers = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export function count(value) {
  return numbers.format(value);
}

/** "1 value", "2 values" */
export function several(value, word) {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}

/** A number per second. */
export function rate(value) {
  if (value === 0) return "0/s";
  return `${value < 10 ? value.toFixed(1) : numbers.format(value)}/s`;
}

/** A length of time in seconds, or null; never broken into two lines. */
export function time(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)}\u00a0µs`;
  if (seconds < 0.01) return `${(seconds * 1000).toFixed(1)}\u00a0ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)}\u00a0ms`;
  if (seconds < 10) return `${Number(seconds.toFixed(1))}\u00a0s`;
  if (seconds < 120) return `${Math.round(seconds)}\u00a0s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)}\u00a0min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)}\u00a0h`;
  return `${Math.round(seconds / 86400)}\u00a0d`;
}

/** As the file writes it. */
export function durationWord(seconds) {
  const milliseconds = Math.round(seconds * 1000);
  return milliseconds % 1000 === 0 ? `${milliseconds / 1000}s` : `${milliseconds}ms`;
}

/** The clock of the person who looks. */
export function clock(unixSeconds) {
  return new Date(unixSeconds * 1000).toLocaleTimeString("en-GB");
}

/** make("p", { class: "hint" }, "text", child …) */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Changes the text only when it is another one: nothing is selected away, nothing is read again. */
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}
