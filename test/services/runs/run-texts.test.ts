import { expect, test } from 'vitest';
import type { RunDocument } from '#domain/definition/runs.js';
import { Refusal } from '#domain/base/refusals.js';
import type { TaskInput } from '#jobs/tasks/catalogue.js';
import { computeRecordEtag, createRunTexts } from '#services/runs/stored-runs.js';
import type { ArtifactRef, ArtifactStore } from '#store/port.js';
import { createTestContext } from '../context.js';

const createArtifact = (name: string) => ({ name, bytes: 1, sha256: `sha of ${name}` });
const RUN: RunDocument = {
  run_id: 'CORE',
  index_id: 'CORE',
  name: 'Core',
  run_at: 't',
  start: '2024-01-02',
  end: '2024-01-03',
  run_hash: 'h',
  store_content_hash: 's',
  extended_from: null,
  full_run_reason: null,
  engine_version: '0',
  request: {},
  artifacts: { columns: createArtifact('columns'), plan: createArtifact('plan') },
};
const OLD_RUN: RunDocument = { ...RUN, artifacts: { ...RUN.artifacts, record: createArtifact('record') } };
const createLaterRun = (i: number): RunDocument => ({ ...RUN, run_at: `later ${i}` });
const INPUT = {
  text: 'record',
  columns: '/home/columns',
  files: [{ path: '/home/columns', sha256: 'sha of columns' }],
  stamp: {
    runAt: 't',
    runHash: 'h',
    storeContentHash: 's',
    engineVersion: '0',
    extendedFrom: null,
    fullRunReason: null,
    indexVersion: null,
  },
};

/** Creates records that are stored as files in a map. Also records the requests to the workers. */
function createRecords({ fails = 0, isFull = false } = {}) {
  const requests: (TaskInput<'write-run-text'> | TaskInput<'run-text'>)[] = [];
  const files = new Map<string, string>([['record', 'stored']]);
  const artifacts = {
    file: async ({ name }: { name: string }) => `/home/${name}`,
    async claim() {
      if (isFull) throw new Refusal('STORAGE_FULL', 'full');
      return `file ${requests.length + 1}`;
    },
    async stream({ name }: ArtifactRef) {
      if (!files.has(name)) throw new Refusal('DOCUMENT_UNREADABLE', `${name} is gone`);
      return new Blob([files.get(name)!]).stream();
    },
    damaged: async () => new Set(),
    remove: async (names: readonly string[]) => names.forEach((name) => files.delete(name)),
  } as unknown as ArtifactStore;
  const query = (async (_task: string, input: TaskInput<'write-run-text'> | TaskInput<'run-text'>) => {
    requests.push(input);
    if (requests.length <= fails) throw new Error('damaged');
    const text = `${input.text} ${requests.length}`;
    if (!('path' in input)) return { bytes: new TextEncoder().encode(text), sha256: '' };
    files.set(input.path.slice('/home/'.length), text);
    return { bytes: text.length, sha256: '' };
  }) as Parameters<typeof createRunTexts>[0]['jobs']['query'];
  const service = createRunTexts(createTestContext({ artifacts, jobs: { query } }));
  return {
    asked: requests,
    files,
    read: async (run: RunDocument) => new Response(await (await service.read(run, 'record')).open()).text(),
    open: (run: RunDocument) => service.read(run, 'record'),
    result: async (run: RunDocument) => new Response(await (await service.read(run, 'result')).open()).text(),
    stored: service.stored,
  };
}

test('a record is written by a worker from the columns and the stamp of its run, once while it is cached', async () => {
  const { read, asked } = createRecords();
  expect(await Promise.all([read(RUN), read(RUN)])).toEqual(['record 1', 'record 1']);
  expect(asked).toEqual([{ ...INPUT, path: '/home/file 1' }]);
  expect([await read(createLaterRun(1)), await read(RUN)]).toEqual(['record 2', 'record 1']);
});

test('a length is that of the file and an etag that of the run', async () => {
  const { open } = createRecords();
  expect(await open(RUN)).toMatchObject({ length: 'record 1'.length, etag: computeRecordEtag(RUN) });
});

test('the least recently read record is removed, and a reader that has opened it reads it to its end', async () => {
  const { read, open, files } = createRecords();
  const openedRun = await open(RUN);
  for (let i = 0; i < 31; i++) await read(createLaterRun(i));
  await read(RUN);
  await read(createLaterRun(31));
  expect([files.size, files.has('file 1'), files.has('file 2')]).toEqual([1 + 32, true, false]);
  for (let i = 32; i < 64; i++) await read(createLaterRun(i));
  expect(files.has('file 1')).toBe(false);
  expect(await new Response(await openedRun.open()).text()).toBe('record 1');
  expect(await read(RUN)).toBe('record 66');
});

test('a file that was removed is written again', async () => {
  const { read, files } = createRecords();
  await read(RUN);
  files.delete('file 1');
  expect(await read(RUN)).toBe('record 2');
});

test('a failed write is retried', async () => {
  const { read } = createRecords({ fails: 1 });
  await expect(read(RUN)).rejects.toThrow('damaged');
  expect(await read(RUN)).toBe('record 2');
});

test('on a full disk a record is read without being written', async () => {
  const { read, asked, files } = createRecords({ isFull: true });
  expect([await read(RUN), asked, [...files.keys()]]).toEqual(['record 1', [INPUT], ['record']]);
});

test('a record that was stored as JSON is upgraded by a worker, under a different etag', async () => {
  const { read, asked } = createRecords();
  expect(await read(OLD_RUN)).toBe('record 1');
  expect(asked).toEqual([
    { text: 'record', stored: { path: '/home/record', sha256: 'sha of record' }, path: '/home/file 1' },
  ]);
  expect(computeRecordEtag(OLD_RUN)).not.toBe('sha of record');
});

test('the etag differs for another file and another stamp', () => {
  const otherRuns = [
    { ...RUN, run_at: 'later' },
    { ...RUN, engine_version: '1' },
    { ...RUN, artifacts: { ...RUN.artifacts, columns: createArtifact('other') } },
  ];
  expect(new Set([RUN, ...otherRuns].map(computeRecordEtag)).size).toBe(4);
  expect(computeRecordEtag({ ...RUN })).toBe(computeRecordEtag(RUN));
});

test('a result is rendered from the columns and the plan of its run, in addition to its record', async () => {
  const { read, result, asked } = createRecords();
  expect(await Promise.all([result(RUN), result(RUN)])).toEqual(['result 1', 'result 1']);
  expect(asked).toEqual([
    { ...INPUT, text: 'result', plan: { path: '/home/plan', sha256: 'sha of plan' }, path: '/home/file 1' },
  ]);
  expect(await read(RUN)).toBe('record 2');
  expect(await result({ ...RUN, index_version: 2 })).toBe('result 3');
});

test('a result that an earlier version stored is written from its file and its snapshots', async () => {
  const { result, stored, asked } = createRecords();
  const oldArtifact = { ...createArtifact('result'), inset: { ...createArtifact('snapshots'), at: 7 } };
  expect(await result({ ...RUN, artifacts: { ...RUN.artifacts, result: oldArtifact } })).toBe('result 1');
  expect(asked).toEqual([
    {
      text: 'result',
      stored: {
        path: '/home/result',
        sha256: 'sha of result',
        inset: { path: '/home/snapshots', sha256: 'sha of snapshots', at: 7 },
      },
      path: '/home/file 1',
    },
  ]);
  expect(await new Response(await (await stored(oldArtifact)).open()).text()).toBe('result 1');
});
