import { expect, test } from 'vitest';
import { commitDurably, type WritableDatabase } from '#store/lmdb/durable-commit.js';

/** Creates a database for which the test decides when commits and flushes end. */
function createDatabase() {
  const log: string[] = [];
  let endBatch: { readonly resolve: (done: boolean) => void; readonly reject: (reason: unknown) => void } | undefined;
  let endFlush: ((done: boolean) => void) | undefined;
  const flush = new Promise<boolean>((resolve) => (endFlush = resolve));
  const database: WritableDatabase = {
    batch(action) {
      action();
      return new Promise((resolve, reject) => (endBatch = { resolve, reject }));
    },
    put: (key, value) => log.push(`put ${key.toString()} ${value.toString()}`),
    remove: (key) => log.push(`remove ${key.toString()}`),
    flushed: flush,
  };
  return { database, log, batch: () => endBatch!, flush: () => endFlush!(true) };
}

const writes = new Map([
  ['a', Buffer.from('1')],
  ['b', null],
]);

async function runEventLoopTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test('a commit is done when it is flushed, not when it is visible', async () => {
  const { database, log, batch, flush } = createDatabase();
  let isDone = false;
  const commit = commitDurably(database, writes).then(() => (isDone = true));
  expect(log).toEqual(['put a 1', 'remove b']);
  batch().resolve(true);
  await runEventLoopTurns();
  expect(isDone).toBe(false);
  flush();
  await commit;
  expect(isDone).toBe(true);
});

test('a failed commit reports the reason and leaves no unhandled rejection', async () => {
  const { database, batch } = createDatabase();
  const unreadErrors: unknown[] = [];
  const note = (reason: unknown): void => void unreadErrors.push(reason);
  process.on('unhandledRejection', note);
  const commit = commitDurably(database, writes);
  let refuse!: (reason: unknown) => void;
  const commitError = new Promise((_, reject) => (refuse = reject));
  batch().reject(Object.assign(new Error('Commit failed (see commitError for details)'), { commitError }));
  const rejection = expect(commit).rejects.toThrow('LMDB did not commit: No space left on device');
  await Promise.resolve();
  refuse(new Error('No space left on device'));
  await rejection;
  await runEventLoopTurns();
  process.off('unhandledRejection', note);
  expect(unreadErrors).toEqual([]);
});
