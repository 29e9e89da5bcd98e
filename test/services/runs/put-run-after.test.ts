import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunDocument } from '#domain/definition/runs.js';
import { findRun, putRun, putRunAfter, readRunList } from '#services/shared/run-documents.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { computeRunId, type DocumentEngine } from '#store/port.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';

const formatName = (i: number) => `${String(i).padStart(32, '0')}.art`;
const run = (i: number): RunDocument => ({
  run_id: 'X',
  index_id: 'X',
  name: 'X',
  run_at: null,
  start: '2024-01-02',
  end: '2024-01-03',
  run_hash: String(i),
  store_content_hash: 'c',
  extended_from: null,
  full_run_reason: null,
  engine_version: '1',
  request: {},
  artifacts: { columns: { name: formatName(i), bytes: 1, sha256: 'ab'.repeat(32) } },
});
const createRunId = (i: number) => computeRunId(run(i));

let documents: DocumentEngine;
const unreferencedArtifacts: string[] = [];
beforeEach(async () => {
  unreferencedArtifacts.length = 0;
  documents = await openDocumentStore({
    folder: await createTemporaryFolder(),
    onUnreferenced: (names) => void unreferencedArtifacts.push(...names),
  });
  await documents.transaction(async (tx) => void (await tx.put('index', 'X', {})));
});
afterEach(() => documents.close());

const put = (i: number) => documents.transaction((tx) => putRun(tx, run(i), 3));
const putAfter = (i: number, after: string | null, runsKept = 3) =>
  documents.transaction((tx) => putRunAfter(tx, run(i), { after, runsKept }));
const listRunIds = async () => {
  const newest = await findRun(documents, 'X');
  return [newest && computeRunId(newest), ...(await readRunList(documents, 'X')).earlier];
};

test('a run replaces the newest run that it was made after', async () => {
  await put(1);
  expect(await putAfter(2, createRunId(1))).toBe(true);
  expect(await listRunIds()).toEqual([createRunId(2), createRunId(1)]);
});

test('a run stays behind one that was stored meanwhile, and counts among the kept runs', async () => {
  for (const i of [1, 2, 3]) await put(i);
  expect(await putAfter(4, createRunId(2))).toBe(false);
  expect(await listRunIds()).toEqual([createRunId(3), createRunId(4), createRunId(2)]);
  expect(unreferencedArtifacts).toEqual([formatName(1)]);
  expect(await putAfter(5, createRunId(2), 1)).toBe(false);
  expect(await listRunIds()).toEqual([createRunId(3)]);
  expect(unreferencedArtifacts.toSorted()).toEqual([1, 2, 4].map(formatName));
});

test('nothing is stored if the newest run, or the index, was deleted meanwhile', async () => {
  await put(1);
  await documents.transaction(async (tx) => void (await tx.delete('run', 'X')));
  expect(await putAfter(2, createRunId(1))).toBe(false);
  expect(await listRunIds()).toEqual([undefined]);
  await documents.transaction(async (tx) => void (await tx.delete('index', 'X')));
  expect(await putAfter(3, null)).toBe(false);
  expect(await listRunIds()).toEqual([undefined]);
});

test('a first run is stored if there is none, and stays behind another first run', async () => {
  expect(await putAfter(1, null)).toBe(true);
  expect(await putAfter(2, null)).toBe(false);
  expect(await listRunIds()).toEqual([createRunId(1), createRunId(2)]);
});
