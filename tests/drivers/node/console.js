'use strict';
// node-postgres at the console: logs in as the JSON on stdin says, prints what it sees as JSON.

const { Client } = require('pg');

async function main(place) {
  const client = new Client({ host: '127.0.0.1', database: 'pgbulkhead', ...place });
  await client.connect();
  const simple = await client.query('show workloads');
  const prepared = await client.query({ name: 'one', text: 'SHOW WORKLOADS;', values: [] });
  await client.query('set workload default concurrency = 7');
  const failure = await client.query('shwo workloads').catch((error) => error);
  const { rows } = await client.query('show workloads');
  await client.end();
  return {
    equal: JSON.stringify(simple.rows) === JSON.stringify(prepared.rows),
    limit: rows[0].limit,
    code: failure.code,
    hint: failure.hint,
  };
}

(async () => {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  console.log(JSON.stringify(await main(JSON.parse(Buffer.concat(chunks).toString()))));
})();
