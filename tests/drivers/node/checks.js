'use strict';
// What the Node programs share: where to connect, and one line per check.

const assert = require('node:assert');

const place = {
  host: process.env.DRIVER_HOST,
  port: Number(process.env.DRIVER_PORT),
  database: process.env.DRIVER_DATABASE,
  user: process.env.DRIVER_USER,
  ssl: process.env.DRIVER_SSLMODE === 'require' && { rejectUnauthorized: false },
};
// The application_name of a workload with one permit and a short wait; empty when there is no proxy.
const tight = process.env.DRIVER_TIGHT || '';

async function check(body) {
  const name = body.name;
  if (name.startsWith('refusal') && !tight) {
    console.log('skip', name);
    return;
  }
  try {
    await body();
    console.log('ok', name);
  } catch (error) {
    console.log(`not ok ${name}: ${String(error.stack || error).replace(/\s+/g, ' ').slice(0, 300)}`);
  }
}

async function checkAll(...bodies) {
  for (const body of bodies) await check(body);
}

// The promise must fail with this SQLSTATE.
async function fails(code, promise) {
  let error = null;
  try {
    await promise;
  } catch (failure) {
    error = failure;
  }
  assert.ok(error, `no error where ${code} was due`);
  assert.strictEqual(error.code, code, String(error));
  return error;
}

// Resolves at the event, or fails after five seconds.
function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within 5 s`)), 5000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

module.exports = { place, tight, checkAll, fails, within };
