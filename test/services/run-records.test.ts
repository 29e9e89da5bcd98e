import { expect, test } from 'vitest';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { TaskInput } from '#jobs/tasks.js';
import { createRunRecords, recordEtag } from '#services/run-records.js';
import type { ArtifactStore } from '#store/artifacts.js';

const artifact = (name: string) => ({ name, bytes: 1, sha256: `sha of ${name}` });
const RUN: RunDocument = {
  run_id: 'CORE', index_id: 'CORE', name: 'Core', run_at: 't', start: '2024-01-02', end: '2024-01-03', run_hash: 'h', store_content_hash: 's', engine_version: '0', request: {},
  artifacts: { result: artifact('result'), overview: artifact('overview'), columns: artifact('columns') },
};
const OLD: RunDocument = { ...RUN, artifacts: { ...RUN.artifacts, record: artifact('record') } };

/** Records of one letter per reading, and what was asked of the workers. */
function records({ fails = 0 } = {}) {
  const asked: TaskInput<'run-record'>[] = [];
  const artifacts = { path: ({ name }: { name: string }) => `/home/${name}`, read: async () => new TextEncoder().encode('stored') } as unknown as ArtifactStore;
  const query = (async (_task: string, input: TaskInput<'run-record'>) => {
    asked.push(input);
    if (asked.length <= fails) throw new Error('damaged');
    return { bytes: new TextEncoder().encode(`record ${asked.length}`), sha256: '' };
  }) as Parameters<typeof createRunRecords>[0]['jobs']['query'];
  return { asked, ...createRunRecords({ artifacts, jobs: { query } }) };
}

const textOf = async (bytes: Promise<Uint8Array>): Promise<string> => new TextDecoder().decode(await bytes);

test('a record is written by a worker from the columns and the stamp of its run, once while it is asked for again', async () => {
  const { read, asked } = records();
  expect(await Promise.all([textOf(read(RUN)), textOf(read(RUN))])).toEqual(['record 1', 'record 1']);
  expect(asked).toEqual([{ columns: '/home/columns', sha256: 'sha of columns', stamp: { runAt: 't', runHash: 'h', storeContentHash: 's', engineVersion: '0' } }]);
  expect(await textOf(read({ ...RUN, run_at: 'later' }))).toBe('record 2');
  expect(await textOf(read(RUN))).toBe('record 3');
});

test('a reading that failed is tried again', async () => {
  const { read } = records({ fails: 1 });
  await expect(read(RUN)).rejects.toThrow('damaged');
  expect(await textOf(read(RUN))).toBe('record 2');
});

test('a record that was stored as JSON is served as it is, under its hash', async () => {
  const { read, asked } = records();
  expect([await textOf(read(OLD)), recordEtag(OLD), asked.length]).toEqual(['stored', 'sha of record', 0]);
});

test('the etag is another one for another file and another stamp', () => {
  const others = [{ ...RUN, run_at: 'later' }, { ...RUN, engine_version: '1' }, { ...RUN, artifacts: { ...RUN.artifacts, columns: artifact('other') } }];
  expect(new Set([RUN, ...others].map(recordEtag)).size).toBe(4);
  expect(recordEtag({ ...RUN })).toBe(recordEtag(RUN));
});
