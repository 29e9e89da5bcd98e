import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { createStrategies, type Strategies } from '#services/indices/strategies.js';
import { type Home, openHome } from '#store/home/home.js';
import { openStore, type Store } from '#store/open-store.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { createTestContext } from '../context.js';
import { createEqualIndex } from '../../equal-index.js';

const createFolder = openTemporaryFolders();
let home: Home;
let store: Store;
let strategies: Strategies;
const liveIndices = new Set<string>();
const cancelledJobs: string[] = [];

const throwCause = (cause: unknown): never => {
  throw cause;
};

beforeEach(async () => {
  home = await openHome(await createFolder());
  store = await openStore({ home, onFailure: throwCause });
  liveIndices.clear();
  cancelledJobs.length = 0;
  const jobs = {
    get: async () => undefined,
    ids: async () => [],
    isLive: async (id: string) => liveIndices.has(id),
    cancel: async (id: string) => {
      cancelledJobs.push(id);
      return {} as JobStatus; // the result is not read
    },
  };
  const context = createTestContext({
    documents: store.documents,
    jobs,
    markets: {
      served: () => undefined,
      current: () => undefined,
      require: () => throwCause('no market'),
      settled: async () => {},
    },
  });
  strategies = createStrategies(context);
  await store.documents.transaction((tx) => tx.put('index', 'I', createEqualIndex('I', { base_date: '2020-01-02' })));
});

afterEach(async () => {
  await store.close();
  await home.close();
});

describe('stored strategies', () => {
  test('200 are listed by id, and an unreadable one is counted, identified and deleted', async () => {
    for (let i = 0; i < 200; i++)
      await strategies.create({ id: `S-${String(i).padStart(3, '0')}`, name: 'S', index_id: 'I' });
    await store.documents.transaction((tx) => tx.put('strategy', 'S-100', { id: 'S-100', name: 17 }));
    const all = await strategies.list({});
    expect([all.strategies.length, all.skipped, all.skipped_causes]).toEqual([
      199,
      1,
      { unreadable: 0, invalid: 1, unsupported: 0 },
    ]);
    expect(all.strategies.map(({ strategy }) => strategy.id)).toEqual(
      all.strategies.map(({ strategy }) => strategy.id).toSorted(),
    );
    expect((await strategies.list({ after: 'S-098', limit: 2 })).strategies.map(({ strategy }) => strategy.id)).toEqual(
      ['S-099', 'S-101'],
    );
    await expect(strategies.get('S-100')).rejects.toThrow(expect.objectContaining({ code: 'DOCUMENT_UNREADABLE' }));
    expect(await strategies.remove('S-100', undefined)).toEqual({
      strategy_id: 'S-100',
      backtest_record_deleted: false,
      backtest_results_deleted: 0,
    });
    expect((await strategies.list({})).skipped).toBe(0);
  });

  test('a taken id is refused with a finding about the field of the id, which contains no HTTP method', async () => {
    await strategies.create({ id: 'S', name: 'S', index_id: 'I' });
    const message = 'A strategy is already stored under the id S. Choose another id, or replace the strategy.';
    const findings = [expect.objectContaining({ code: 'DUPLICATE_ID', path: 'id', message })];
    await expect(strategies.create({ id: 'S', name: 'S', index_id: 'I' })).rejects.toMatchObject({
      code: 'STRATEGY_EXISTS',
      message,
      detail: { strategy_id: 'S', findings },
    });
  });

  test('a pending backtest is cancelled before its strategy is deleted', async () => {
    await strategies.create({ id: 'S', name: 'S', index_id: 'I' });
    liveIndices.add('backtest:S');
    await strategies.remove('S', undefined);
    expect(cancelledJobs).toEqual(['backtest:S']);
  });
});
