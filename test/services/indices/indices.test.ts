import { describe, expect, test } from 'vitest';
import type { Jobs } from '#jobs/port/job-kind.js';
import { createApprovals } from '#services/shared/approvals.js';
import { createIndices } from '#services/indices/indices.js';
import type {
  DocumentKind,
  DocumentStore,
  DocumentTransaction,
  StoredDocument,
  UnreadableDocument,
} from '#store/port.js';
import { createTestContext } from '../context.js';
import { createEqualIndex } from '../../equal-index.js';

type Entry = StoredDocument | UnreadableDocument;

/** Creates a document store in memory. If a transaction throws, the documents stay unchanged. */
function createMemoryStore(): DocumentStore & { readonly entries: Map<string, Entry> } {
  const entries = new Map<string, Entry>();
  let writes = 0;
  const formatKey = (kind: DocumentKind, id: string) => `${kind} ${id}`;
  const reader = {
    get: async (kind: DocumentKind, id: string) => entries.get(formatKey(kind, id)),
    ids: async (kind: DocumentKind) =>
      [...entries.values()]
        .filter(({ id }) => entries.has(formatKey(kind, id)))
        .map(({ id }) => id)
        .filter((id, i, all) => all.indexOf(id) === i)
        .toSorted(),
    lastNumber: async () => 0,
  };
  return {
    ...reader,
    entries,
    numbers: async () => [],
    revision: async () => writes,
    async list(kind, read) {
      const causes = { unreadable: 0, invalid: 0, unsupported: 0 };
      const ids = await reader.ids(kind);
      const documents = ids.flatMap((id) => {
        const entry = entries.get(formatKey(kind, id))!;
        if ('unreadable' in entry) {
          causes[entry.unreadable]++;
          return [];
        }
        const document = read(entry.body, id, { etag: '', updatedAt: '' });
        if (document === undefined) causes.invalid++;
        return document === undefined ? [] : [document];
      });
      return { documents, skipped: causes.unreadable + causes.invalid + causes.unsupported, skipped_causes: causes };
    },
    async transaction(change) {
      const before = new Map(entries);
      const tx: DocumentTransaction = {
        ...reader,
        async put(kind, id, body) {
          const etag = `etag-${++writes}`;
          entries.set(formatKey(kind, id), { id, body, etag, updatedAt: '' });
          return etag;
        },
        async delete(kind, id) {
          writes++;
          return entries.delete(formatKey(kind, id));
        },
        publish: () => {},
      };
      try {
        return await change(tx);
      } catch (failure) {
        entries.clear();
        for (const [key, entry] of before) entries.set(key, entry);
        throw failure;
      }
    },
    subscribe: () => () => {},
    close: async () => undefined,
  };
}

function setUp(live: readonly string[] = []) {
  const documents = createMemoryStore();
  const cancelledJobs: string[] = [];
  const jobs: Pick<Jobs, 'isLive' | 'cancel' | 'get' | 'ids'> = {
    get: async () => undefined,
    ids: async () => [],
    isLive: async (jobId) => live.includes(jobId),
    async cancel(jobId) {
      // the job is cancelled before anything is removed
      expect(documents.entries.has(`index ${jobId.split(':')[1]}`)).toBe(true);
      cancelledJobs.push(jobId);
      return {} as Awaited<ReturnType<Jobs['cancel']>>; // the service does not read the result
    },
  };
  const calendar = { code: 'XNYS', name: '', region: '', tz: '', coverage: { from: 0, publishedTo: 1, to: 1 } };
  const context = createTestContext({
    documents,
    jobs,
    stores: { of: () => Promise.reject(new Error('no store is named')), within: async (_storeId, work) => work() },
    markets: {
      served: () => undefined,
      current: () => undefined,
      require: () => {
        throw new Error('no market is needed');
      },
      settled: async () => undefined,
    },
    calendars: { list: () => [calendar], get: () => undefined },
    approvals: createApprovals(documents, { rules: {}, hours: 72, now: Date.now }),
  });
  return { documents, indices: createIndices(context), cancelled: cancelledJobs };
}

const createRules = (id: string) => createEqualIndex(id, { base_date: '2020-01-02' });
const deriveIndex = (id: string, source: string) => ({
  id,
  name: id,
  calendar: 'XNYS',
  base_date: '2020-01-02',
  derivation: { source_index_id: source },
});
const createStored = (id: string, body: unknown): StoredDocument => ({ id, body, etag: 'e', updatedAt: '' });

test('a list that is read again has the writes in between', async () => {
  const { documents, indices } = setUp();
  const listRunStates = async () => (await indices.list({})).indices.map(({ id, has_run }) => `${id} ${has_run}`);
  await indices.create(createRules('A'));
  expect(await listRunStates()).toEqual(['A false']);
  await indices.create(createRules('B'));
  expect(await listRunStates()).toEqual(['A false', 'B false']);
  expect(await indices.list({})).toBe(await indices.list({}));
  expect((await indices.list({ after: 'A' })).indices.map(({ id }) => id)).toEqual(['B']);
  await documents.transaction(async (tx) => tx.put('run', 'A', { run_at: null }));
  expect(await listRunStates()).toEqual(['A true', 'B false']);
  await indices.remove('A', undefined);
  expect(await listRunStates()).toEqual(['B false']);
});

describe('definitions that cannot be read', () => {
  test('they are omitted from the listing, counted by cause, reported on their own route and can be deleted', async () => {
    const { documents, indices } = setUp();
    await indices.create(createRules('GOOD'));
    documents.entries.set('index TORN', { id: 'TORN', unreadable: 'unreadable' });
    documents.entries.set('index NEWER', { id: 'NEWER', unreadable: 'unsupported' });
    documents.entries.set('index WRONG', createStored('WRONG', { id: 'WRONG' }));
    expect(await indices.list({})).toMatchObject({
      indices: [{ id: 'GOOD' }],
      skipped: 3,
      skipped_causes: { unreadable: 1, invalid: 1, unsupported: 1 },
    });
    for (const id of ['TORN', 'NEWER', 'WRONG']) {
      await expect(indices.get(id)).rejects.toThrow(expect.objectContaining({ code: 'DOCUMENT_UNREADABLE' }));
      expect(await indices.remove(id, undefined)).toMatchObject({ deleted: [{ index_id: id }] });
    }
    expect((await indices.list({})).skipped).toBe(0);
  });

  test('a new definition can replace an unreadable one, but not by POST', async () => {
    const { documents, indices } = setUp();
    documents.entries.set('index TORN', { id: 'TORN', unreadable: 'unreadable' });
    await expect(indices.create(createRules('TORN'))).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    await indices.replace('TORN', createRules('TORN'), undefined);
    expect((await indices.get('TORN')).document.name).toBe('TORN');
  });
});

describe('deleting', () => {
  test('running backtests of the whole family are cancelled first, and every result of it is deleted', async () => {
    const { documents, indices, cancelled } = setUp(['backtest:PARENT', 'backtest:GRAND']);
    await indices.create(createRules('PARENT'));
    await indices.create(deriveIndex('SON', 'PARENT'));
    await indices.create(deriveIndex('GRAND', 'SON'));
    await indices.create(createRules('OTHER'));
    documents.entries.set('run PARENT', createStored('PARENT', { run_at: '2026-01-01T00:00:00.000000+00:00' }));
    for (const id of ['PARENT', 'GRAND', 'OTHER'])
      documents.entries.set(`job backtest:${id}`, createStored(`backtest:${id}`, {}));
    documents.entries.set('job-input backtest:GRAND', createStored('backtest:GRAND', {}));
    expect((await indices.list({})).indices.map(({ id, has_run, run_at }) => [id, has_run, run_at])).toContainEqual([
      'PARENT',
      true,
      '2026-01-01T00:00:00.000000+00:00',
    ]);
    expect(await indices.remove('PARENT', undefined)).toEqual({
      deleted: [
        { index_id: 'PARENT', backtest_record_deleted: true, backtest_results_deleted: 2, derived_from: null },
        { index_id: 'SON', backtest_record_deleted: false, backtest_results_deleted: 0, derived_from: 'PARENT' },
        { index_id: 'GRAND', backtest_record_deleted: false, backtest_results_deleted: 1, derived_from: 'SON' },
      ],
    });
    expect(cancelled).toEqual(['backtest:PARENT', 'backtest:GRAND']);
    expect([...documents.entries.keys()].toSorted()).toEqual(['index OTHER', 'job backtest:OTHER']);
  });

  test('a failed precondition removes nothing', async () => {
    const { indices } = setUp();
    await indices.create(createRules('KEPT'));
    await expect(indices.remove('KEPT', ['another'])).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
    expect((await indices.get('KEPT')).document.id).toBe('KEPT');
  });
});

describe('references', () => {
  test('a definition may not close a circle through universes and derivations', async () => {
    const { indices } = setUp();
    await indices.create(createRules('A'));
    await indices.create({ ...createRules('B'), universe: { kind: 'index', id: 'A' } });
    await indices.create(deriveIndex('C', 'B'));
    await expect(
      indices.replace('A', { ...createRules('A'), universe: { kind: 'index', id: 'C' } }, undefined),
    ).rejects.toMatchObject({
      detail: { findings: [expect.objectContaining({ code: 'CIRCULAR_REFERENCE', path: 'universe.id' })] },
    });
  });

  test('a later change of the parent leaves the child unchanged and causes a warning', async () => {
    const { indices } = setUp();
    await indices.create(createRules('P'));
    await indices.create(deriveIndex('K', 'P'));
    await indices.replace('P', { ...createRules('P'), base_value: 1000 }, undefined);
    expect((await indices.get('K')).document.base_value).toBe(100);
    expect(await indices.validate((await indices.get('K')).document)).toMatchObject({
      valid: true,
      findings: [{ severity: 'warning', code: 'PARENT_CHANGED', path: 'base_value' }],
    });
  });
});
