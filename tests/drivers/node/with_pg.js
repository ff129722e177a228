'use strict';
// node-postgres: its client and pool, statements prepared by name, cursors, COPY, pipelining.

const { deepStrictEqual: same, ok } = require('node:assert');
const { Client, Pool } = require('pg');
const Cursor = require('pg-cursor');
const { from: copyFrom, to: copyTo } = require('pg-copy-streams');
const { pipeline } = require('node:stream/promises');
const { Readable, Writable } = require('node:stream');
const { place, tight, checkAll, fails, within } = require('./checks.js');
const { Retry } = require('../../../deploy/clients/node/retry.js');

async function connected(use, options = {}) {
  const client = new Client({ ...place, ...options });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

async function one(client, text, values) {
  const result = await client.query({ text, values, rowMode: 'array' });
  return result.rows[0];
}

const count = async (client) => Number((await one(client, 'select count(*) from t'))[0]);

async function login() {
  await connected(async (client) => {
    same(await one(client, 'show application_name'), ['before']);
    same(await one(client, 'show work_mem'), ['5MB']);
  }, { application_name: 'before', options: '-c work_mem=5MB' });
}

async function simple() {
  await connected(async (client) => {
    same(await one(client, "select 1, 'two'"), [1, 'two']);
    const results = await client.query('select 1 as a; select 2 as a');
    same(results.map((result) => result.rows[0].a), [1, 2]);
  });
}

async function prepared() {
  await connected(async (client) => {
    for (let number = 0; number < 5; number++) {
      await client.query('begin');
      const plan = { name: 'plan', text: 'select $1::int + 1 as a', values: [number] };
      same((await client.query(plan)).rows, [{ a: number + 1 }]);
      await client.query('commit');
      same(await one(client, 'select $1::text', [`n${number}`]), [`n${number}`]);
    }
  });
}

async function commit() {
  await connected(async (client) => {
    const before = await count(client);
    await client.query('begin');
    await client.query('insert into t values ($1, $2)', [1, 'one']);
    same((await client.query('commit')).command, 'COMMIT');
    same(await count(client), before + 1);
  });
}

async function rollback() {
  await connected(async (client) => {
    const before = await count(client);
    await client.query('begin');
    await client.query('insert into t values ($1, $2)', [2, 'two']);
    await client.query('rollback');
    same(await count(client), before);
  });
}

async function error() {
  await connected(async (client) => {
    await fails('22012', client.query('select 1 / $1::int', [0]));
    await client.query('begin');
    await fails('42P01', client.query('select * from nowhere'));
    await fails('25P02', client.query('select 1 + 0'));
    same((await client.query('commit')).command, 'ROLLBACK');
    same(await one(client, 'select 1 + 0'), [1]);
  });
}

async function copy() {
  await connected(async (client) => {
    const before = await count(client);
    const lines = Array.from({ length: 2000 }, (_, n) => `${n}\trow ${n}\n`);
    await pipeline(Readable.from(lines), client.query(copyFrom('copy t from stdin')));
    same(await count(client), before + 2000);
    let text = '';
    const sink = new Writable({ write(chunk, _, done) { text += chunk; done(); } });
    await pipeline(client.query(copyTo("copy (select 1, 'x') to stdout")), sink);
    same(text, '1\tx\n');
  });
}

async function cursor() {
  await connected(async (client) => {
    const rows = client.query(new Cursor('select generate_series(1, $1::int) as n', [250]));
    let total = 0;
    for (let part = await rows.read(100); part.length; part = await rows.read(100)) {
      for (const row of part) total += row.n;
    }
    same(total, 31375);
    await rows.close();
    same(await one(client, 'select 1 + 0'), [1]);
  });
}

async function unawaited() {
  await connected(async (client) => {
    const before = await count(client);
    const all = [client.query('begin')];
    for (let n = 0; n < 20; n++) all.push(client.query('insert into t values ($1, $2)', [n, 'many']));
    all.push(client.query('commit'));
    await Promise.all(all);
    same(await count(client), before + 20);
  }, { pipeline: true });
}

async function cancel() {
  // The driver has no public call for it: its own way is another connection to the same place.
  await connected(async (client) => {
    const sleeping = client.query('select pg_sleep(20)');
    const other = new Client(place);
    const timer = setTimeout(() => other.cancel(client, client.activeQuery ?? client._activeQuery), 300);
    await within(fails('57014', sleeping), 'cancel');
    clearTimeout(timer);
    same(await one(client, 'select 1 + 0'), [1]);
  });
}

async function notify() {
  await connected((listener) => connected(async (speaker) => {
    const heard = [];
    const done = new Promise((resolve) => {
      listener.on('notification', (message) => heard.push(message.payload) === 3 && resolve());
    });
    await listener.query('listen pg');
    for (const word of ['0', '1', '2']) await speaker.query("select pg_notify('pg', $1)", [word]);
    await within(done, 'notify');
    same(heard, ['0', '1', '2']);
  }));
}

async function holding(use) {
  await connected(async (holder) => {
    await holder.query('begin');
    await holder.query('select 1 + 0');
    await use(() => holder.query('rollback'));
  }, { application_name: tight });
}

// A login, and what pools ask, while the budget is full.
async function refusal_login() {
  await holding(() => connected(async (client) => {
    same(await one(client, 'SELECT 1'), [1]);
    await client.query('DISCARD ALL');
    await client.query('set statement_timeout = 0');
  }, { application_name: tight }));
}

async function refusal_autocommit() {
  await holding((release) => connected(async (client) => {
    const refused = await fails('40001', client.query('select $1::int', [1]));
    ok(refused.hint.includes('reason=queue_timeout'));
    await release();
    same(await one(client, 'select 1 + 0'), [1]);
  }, { application_name: tight }));
}

async function refusal_block() {
  await holding((release) => connected(async (client) => {
    await client.query('begin');
    await fails('40001', client.query('select 1 + 0'));
    await fails('25P02', client.query('select 1 + 0'));
    await client.query('rollback');
    await release();
    same(await one(client, 'select 1 + 0'), [1]);
  }, { application_name: tight }));
}

async function refusal_pool() {
  const pool = new Pool({ ...place, application_name: tight, max: 1 });
  await holding(async (release) => {
    const processes = new Set();
    const work = async () => {
      const client = await pool.connect();
      try {
        processes.add(client.processID);
        await client.query('begin');
        await client.query('select 1 + 0');
        await client.query('commit');
      } catch (failure) {
        await client.query('rollback');
        throw failure;
      } finally {
        client.release();
      }
    };
    for (let n = 0; n < 3; n++) await fails('40001', work());
    await release();
    await work();
    same(processes.size, 1);
  });
  await pool.end();
}

// The pool's own query() throws a connection away that has had any error.
async function refusal_pool_query() {
  const pool = new Pool({ ...place, application_name: tight, max: 1 });
  const process = async () => Number((await pool.query({ text: 'select 1 + 0', rowMode: 'array' })).rows[0][0]);
  await holding(async (release) => {
    let connects = 0;
    pool.on('connect', () => { connects++; });
    for (let n = 0; n < 3; n++) await fails('40001', process());
    await release();
    same(await process(), 1);
    same(connects, 4);
  });
  await pool.end();
}

async function refusal_pipeline() {
  await holding((release) => connected(async (client) => {
    const all = ['begin', "insert into t values (77, 'refused')", 'commit'].map((text) =>
      client.query(text).catch((failure) => failure.code));
    same((await Promise.all(all)).map((answer) => answer.command ?? answer), ['BEGIN', '40001', 'ROLLBACK']);
    await release();
    same(await one(client, "select count(*)::int from t where b = 'refused'"), [0]);
  }, { application_name: tight, pipeline: true }));
}

// A transaction that counts its calls, while somebody holds the only permit until the third.
async function recipe(use) {
  await holding((release) => connected(async (client) => {
    const made = { calls: 0 };
    await use(async () => {
      made.calls++;
      if (made.calls === 3) await release();
      await client.query('begin');
      try {
        return await one(client, 'select 7');
      } finally {
        await client.query('commit');
      }
    }, made);
  }, { application_name: tight }));
}

async function refusal_recipe_succeeds() {
  await recipe(async (work, made) => {
    same(await new Retry().run(work), [7]);
    same(made.calls, 3);
  });
}

async function refusal_recipe_gives_up() {
  await recipe(async (work, made) => {
    const retry = new Retry({ burst: 1 });
    await fails('40001', retry.run(work));
    same(made.calls, 2);
    made.calls = 0;
    await fails('40001', retry.run(work));
    same(made.calls, 1);
  });
}

async function refusal_recipe_unknown() {
  let calls = 0;
  await connected((client) => fails('08007', new Retry().run(() => {
    calls++;
    return client.query('select pg_terminate_backend(pg_backend_pid()), pg_sleep(30)');
  })));
  same(calls, 1);
}

checkAll(login, simple, prepared, commit, rollback, error, copy, cursor, unawaited, cancel, notify,
  refusal_login, refusal_autocommit, refusal_block, refusal_pipeline, refusal_pool, refusal_pool_query,
  refusal_recipe_succeeds, refusal_recipe_gives_up, refusal_recipe_unknown);
