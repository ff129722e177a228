'use strict';
// node-postgres tries the logins of a JSON list from stdin, and prints how each came out.

const fs = require('fs');
const { Client } = require('pg');

// libpq's words for it; this driver has none that takes what it gets.
function tls(place) {
  if (place.sslmode === 'disable') return false;
  const options = { rejectUnauthorized: place.sslmode === 'verify-full' };
  if (place.root) options.ca = fs.readFileSync(place.root);
  if (place.certificate) {
    options.cert = fs.readFileSync(place.certificate);
    options.key = fs.readFileSync(place.key);
  }
  return options;
}

async function outcome(place) {
  const { host, port, database, user, password } = place;
  const client = new Client({ host, port, database, user, password, ssl: tls(place) });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query('select session_user as me');
    return rows[0].me === user ? 'accepted' : `logged in as ${rows[0].me}`;
  } catch (error) {
    return error.code || error.message;
  } finally {
    await client.end().catch(() => {});
  }
}

(async () => {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  const results = [];
  for (const place of JSON.parse(Buffer.concat(chunks).toString())) results.push(await outcome(place));
  console.log(JSON.stringify(results));
})();
