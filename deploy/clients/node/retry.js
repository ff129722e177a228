'use strict';
// Runs a transaction again when it was refused, on node-postgres: after the time that the refusal
// names, and as long as there is a budget for retries. See ../README.md.
//
//   const retry = new Retry();
//   await retry.run(async () => {
//     const client = await pool.connect();
//     try {
//       await client.query('begin');
//       ...
//       await client.query('commit');
//     } catch (error) {
//       await client.query('rollback');
//       throw error;
//     } finally {
//       client.release();
//     }
//   });

const { setTimeout: sleep } = require('node:timers/promises');

// Nothing of the transaction took effect: refused, a serialization failure, a deadlock.
const SAFE = new Set(['40001', '40P01']);

// One for each program and database: the budget is what all its transactions share.
class Retry {
  constructor({ share = 0.1, burst = 10, attempts = 5 } = {}) {
    Object.assign(this, { share, burst, attempts, tokens: burst });
  }

  // Calls `transaction`, which must be the whole of it, with its own BEGIN and COMMIT.
  async run(transaction) {
    this.tokens = Math.min(this.burst, this.tokens + this.share);
    for (let attempt = 1; ; attempt++) {
      try {
        return await transaction();
      } catch (error) {
        // 08007 is not among the safe ones: it may have been stored.
        if (!SAFE.has(error.code) || attempt === this.attempts || this.tokens < 1) throw error;
        this.tokens--;
        await sleep(after(error, attempt));
      }
    }
  }
}

// Milliseconds to wait: what the refusal says, never less, and up to twice that by chance.
function after(error, attempt) {
  const named = /(?:^| )retry_after_ms=(\d+)(?: |$)/.exec(error.hint ?? '');
  const milliseconds = named ? Number(named[1]) : 10 * 2 ** attempt;
  return milliseconds * (1 + Math.random());
}

module.exports = { Retry, after };
