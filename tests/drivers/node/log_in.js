'use strict';
// node-postgres tries the logins of a JSON list from stdin, and prints how each came out.

const { Client } = require('pg');

async function outcome(place) {
  const client = new Client({ host: '127.0.0.1', ...place });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query('select session_user as me');
    return rows[0].me === place.user ? 'accepted' : `logged in as ${rows[0].me}`;
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
