// Holds objects of Kubernetes, a JSON list on standard input, against the schemas of their kinds. Prints a JSON list of
// complaints. The schemas allow any further field, as an old API server does; here a field that no schema has asked for
// is a mistake, most likely a misspelled one.
import { readFileSync } from "node:fs";

const OPERATOR = /\.coreos\.com\//;

async function modelOf({ apiVersion, kind }) {
  const home = OPERATOR.test(apiVersion) ? "@kubernetes-models/prometheus-operator" : "kubernetes-models";
  return (await import(`${home}/${apiVersion}/${kind}`))[kind];
}

// `value`, and a note in `seen` of each key that somebody reads.
function watched(value, path, seen) {
  if (value === null || typeof value !== "object") return value;
  const read = new Set();
  const inner = new Map();
  seen.push({ value, path, read });
  return new Proxy(value, {
    get(target, key) {
      read.add(key);
      if (!inner.has(key)) inner.set(key, watched(target[key], `${path}/${String(key)}`, seen));
      return inner.get(key);
    },
    ownKeys(target) {
      Reflect.ownKeys(target).forEach((key) => read.add(key));
      return Reflect.ownKeys(target);
    },
  });
}

async function complaints(object) {
  const name = `${object.kind} ${object.metadata?.name}`;
  const seen = [];
  const Model = await modelOf(object);
  try {
    Model.prototype.validate.call(watched(object, "", seen));
  } catch (error) {
    return [`${name}: ${error.message}`];
  }
  return seen.flatMap(({ value, path, read }) =>
    Object.keys(value).filter((key) => !read.has(key)).map((key) => `${name}: ${path}/${key} is no field`));
}

const objects = JSON.parse(readFileSync(0, "utf8"));
const found = [];
for (const object of objects) found.push(...(await complaints(object)));
process.stdout.write(JSON.stringify(found));
