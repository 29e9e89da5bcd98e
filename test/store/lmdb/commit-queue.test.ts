import { expect, test } from 'vitest';
import { type CommitPort, createCommitQueue } from '#store/lmdb/document-store.js';
import type { CommitWrites } from '#store/lmdb/durable-commit.js';

/** Creates a simulated disk with its committed changes. The test decides when a commit ends. */
function createDisk(commit: (writes: CommitWrites, values: Map<string, Buffer>) => Promise<void>) {
  const values = new Map<string, Buffer>();
  const log: string[] = [];
  const listKeys = (start: string, end: string): string[] =>
    [...values.keys()].filter((key) => key >= start && key < end).sort();
  const port: CommitPort = {
    get: (key) => values.get(key),
    keys: (start, end) => listKeys(start, end),
    lastKey: (start, end) => listKeys(start, end).at(-1),
    admit: async () => {},
    commit: (writes) => commit(writes, values),
    committed: () => void log.push('committed'),
    failed: (cause) => void log.push(`failed: ${(cause as Error).message}`),
  };
  return { values, log, queue: createCommitQueue(port) };
}

const apply = async (writes: CommitWrites, values: Map<string, Buffer>): Promise<void> => {
  for (const [key, value] of writes) {
    if (value === null) values.delete(key);
    else values.set(key, value);
  }
};

test('changes that arrive during a commit share the next one', async () => {
  const commits: number[] = [];
  const { queue } = createDisk(async (writes, values) => {
    commits.push(writes.size);
    await new Promise((resolve) => setImmediate(resolve));
    await apply(writes, values);
  });
  const put = (key: string) => queue.run(async (view) => view.put(key, Buffer.from(key)));
  const first = put('a');
  await Promise.resolve();
  await Promise.resolve();
  const otherCommits = ['b', 'c', 'd'].map(put);
  await Promise.all([first, ...otherCommits]);
  expect(commits.reduce((sum, size) => sum + size)).toBe(4);
  expect(commits.length).toBeLessThanOrEqual(2);
});

test('a change that follows a commit after some steps joins the waiting change', async () => {
  const commits: string[][] = [];
  const { queue } = createDisk(async (writes, values) => {
    commits.push([...writes.keys()].toSorted());
    await new Promise((resolve) => setImmediate(resolve));
    await apply(writes, values);
  });
  const put = (key: string) => queue.run(async (view) => view.put(key, Buffer.from(key)));
  const follower = put('job a starts').then(async () => {
    for (let step = 0; step < 20; step++) await undefined;
    await put('job a ends');
  });
  while (commits.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([put('job b starts'), follower]);
  expect(commits).toEqual([['job a starts'], ['job a ends', 'job b starts']]);
});

test('no writer is notified before its commit is on disk', async () => {
  let releaseCommit = (): void => {};
  const { queue } = createDisk(
    (writes, values) => new Promise((resolve) => (releaseCommit = () => resolve(apply(writes, values)))),
  );
  let isReported = false;
  const writer = queue.run(async (view) => view.put('a', Buffer.from('1'))).then(() => (isReported = true));
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(isReported).toBe(false);
  releaseCommit();
  await writer;
});

test('after a failed commit every writer is refused, nothing more is written, and the owner is notified once', async () => {
  let commits = 0;
  const { queue, log, values } = createDisk(async () => {
    commits++;
    throw new Error('ENOSPC');
  });
  const writers = ['a', 'b'].map((key) => queue.run(async (view) => view.put(key, Buffer.from(key))));
  for (const writer of writers) await expect(writer).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  await expect(queue.run(async (view) => view.put('c', Buffer.from('c')))).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  });
  expect(values.size).toBe(0);
  expect(log).toEqual(['failed: ENOSPC']);
  expect(commits).toBe(1);
});

test('a change reads the changes before it in the same commit', async () => {
  const { queue } = createDisk(apply);
  const first = queue.run(async (view) => {
    view.put('k1', Buffer.from('1'));
    view.put('k3', Buffer.from('3'));
  });
  const second = queue.run(async (view) => {
    view.delete('k3');
    view.put('k2', Buffer.from('2'));
    return [view.get('k1')?.toString(), view.get('k3'), view.keys('k', 'l')];
  });
  await first;
  expect(await second).toEqual(['1', undefined, ['k1', 'k2']]);
});

test('closing waits for the queued changes', async () => {
  const { queue, values } = createDisk(async (writes, disk) => {
    await new Promise((resolve) => setImmediate(resolve));
    await apply(writes, disk);
  });
  const writer = queue.run(async (view) => view.put('a', Buffer.from('1')));
  await queue.close();
  expect(values.has('a')).toBe(true);
  await writer;
});
