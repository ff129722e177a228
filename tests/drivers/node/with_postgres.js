'use strict';
// postgres.js: a pool by itself, pipelining, statements prepared by name, cursors, COPY, LISTEN.

const { deepStrictEqual: same } = require('node:assert');
const postgres = require('postgres');
const { pipeline } = require('node:stream/promises');
const { Readable } = require('node:stream');
const { place, tight, checkAll, fails, within } = require('./checks.js');

async function connected(use, options = {}) {
  const sql = postgres({ ...place, username: place.user, max: 1, onnotice: () => {}, ...options });
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

const named = (name) => ({ connection: { application_name: name } });
const count = async (sql) => (await sql`select count(*)::int as n from t`)[0].n;

async function login() {
  await connected(async (sql) => {
    same((await sql`show application_name`)[0].application_name, 'before');
    same((await sql`show work_mem`)[0].work_mem, '5MB');
  }, { connection: { application_name: 'before', work_mem: '5MB' } });
}

async function simple() {
  await connected(async (sql) => {
    same([...(await sql`select 1 as a, 'two' as b`.simple())], [{ a: 1, b: 'two' }]);
    const results = await sql.unsafe('select 1 as a; select 2 as a');
    same(results.map((rows) => rows[0].a), [1, 2]);
  });
}

async function prepared() {
  await connected(async (sql) => {
    for (let number = 0; number < 5; number++) {
      same((await sql`select ${number}::int + 1 as a`)[0].a, number + 1);
      await sql.begin(async (inner) => same((await inner`select ${number}::int + 1 as a`)[0].a, number + 1));
    }
  });
  await connected(async (sql) => same((await sql`select ${7}::int as a`)[0].a, 7), { prepare: false });
}

async function commit() {
  await connected(async (sql) => {
    const before = await count(sql);
    await sql.begin((inner) => inner`insert into t values (${1}, ${'one'})`);
    same(await count(sql), before + 1);
  });
}

async function rollback() {
  await connected(async (sql) => {
    const before = await count(sql);
    await sql.begin(async (inner) => {
      await inner.savepoint(async (point) => {
        await point`insert into t values (2, 'two')`;
        throw new Error('away');
      }).catch(() => {});
      await inner`select 1 + 0`;
    });
    await sql.begin(async (inner) => {
      await inner`insert into t values (3, 'three')`;
      throw new Error('away');
    }).catch(() => {});
    same(await count(sql), before);
  });
}

async function error() {
  await connected(async (sql) => {
    await fails('22012', sql`select 1 / ${0}::int`);
    await fails('42P01', sql`select * from nowhere`);
    await fails('23505', sql.begin(async (inner) => {
      await inner`insert into k values (1)`;
      await inner`insert into k values (1)`;
    }));
    same((await sql`select 1 as a`)[0].a, 1);
  });
}

async function copy() {
  await connected(async (sql) => {
    const before = await count(sql);
    const lines = Array.from({ length: 2000 }, (_, n) => `${n}\trow ${n}\n`);
    await pipeline(Readable.from(lines), await sql`copy t from stdin`.writable());
    same(await count(sql), before + 2000);
    let text = '';
    for await (const chunk of await sql`copy (select 1, 'x') to stdout`.readable()) text += chunk;
    same(text, '1\tx\n');
    const rows = Array.from({ length: 300 }, (_, n) => ({ a: n, b: 'many' }));
    await sql`insert into t ${sql(rows)}`;
    same(await count(sql), before + 2300);
  });
}

async function cursor() {
  await connected(async (sql) => {
    let total = 0;
    for await (const rows of sql`select generate_series(1, ${250}::int) as n`.cursor(100)) {
      for (const row of rows) total += row.n;
    }
    same(total, 31375);
  });
}

async function unawaited() {
  await connected(async (sql) => {
    const all = Array.from({ length: 200 }, (_, n) => sql`select ${n}::int as n`);
    same((await Promise.all(all)).map((rows) => rows[0].n), Array.from({ length: 200 }, (_, n) => n));
  }, { max: 3 });
}

async function cancel() {
  await connected(async (sql) => {
    const sleeping = sql`select pg_sleep(20)`.execute();
    const timer = setTimeout(() => sleeping.cancel(), 300);
    await within(fails('57014', sleeping), 'cancel');
    clearTimeout(timer);
    same((await sql`select 1 as a`)[0].a, 1);
  });
}

async function notify() {
  await connected(async (sql) => {
    const heard = [];
    let finish;
    const done = new Promise((resolve) => { finish = resolve; });
    const { unlisten } = await sql.listen('postgres', (word) => heard.push(word) === 3 && finish());
    for (const word of ['0', '1', '2']) await sql.notify('postgres', word);
    await within(done, 'notify');
    same(heard, ['0', '1', '2']);
    await unlisten();
  });
}

async function reserve() {
  await connected(async (sql) => {
    const mine = await sql.reserve();
    await mine`set work_mem = '6MB'`;
    same((await mine`show work_mem`)[0].work_mem, '6MB');
    mine.release();
  });
}

async function holding(use) {
  await connected(async (sql) => {
    let release;
    const released = new Promise((resolve) => { release = resolve; });
    let started;
    const running = new Promise((resolve) => { started = resolve; });
    const block = sql.begin(async (inner) => {
      await inner`select 1 + 0`;
      started();
      await released;
    });
    await running;
    try {
      await use(() => { release(); return block; });
    } finally {
      release();
      await block;
    }
  }, named(tight));
}

// The pool has one connection: when a refusal poisoned or leaked it, the last statement would hang.
async function refused(body) {
  await holding((release) => connected(async (sql) => {
    for (let n = 0; n < 3; n++) await body(sql);
    await release();
    same((await within(sql`select 1 as a`, 'after the refusal'))[0].a, 1);
  }, { ...named(tight), fetch_types: false }));
}

async function refusal_autocommit() {
  await refused((sql) => fails('40001', sql`select ${1}::int`));
}

async function refusal_block() {
  await refused((sql) => fails('40001', sql.begin((inner) => inner`select ${1}::int`)));
}

// What is not awaited goes in one pipeline, inside a block and outside of it.
async function refusal_pipeline() {
  await refused(async (sql) => {
    const codes = await Promise.all([1, 2, 3].map((n) => sql`select ${n}::int`.catch((e) => e.code)));
    same(codes, ['40001', '40001', '40001']);
    await fails('40001', sql.begin((inner) => [
      inner`insert into t values (77, 'refused')`,
      inner`insert into t values (77, 'refused')`,
    ]));
  });
  await connected(async (sql) => {
    same((await sql`select count(*)::int as n from t where b = 'refused'`)[0].n, 0);
  });
}

checkAll(login, simple, prepared, commit, rollback, error, copy, cursor, unawaited, cancel, notify,
  reserve, refusal_autocommit, refusal_block, refusal_pipeline);
