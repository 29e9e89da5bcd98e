import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DatasetDocument } from '#domain/definition/datasets.js';
import { type MarketHandle, shareMarket } from '#domain/market/market-data.js';
import type { Attempt, Completion } from '#jobs/port/job-kind.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createManagedFolders } from '#market/content/managed-folder.js';
import { allocateEmptyPanel } from '#market/panels/panels.js';
import { createServedMarkets, prepareServedMarket } from '#market/serve/served-markets.js';
import {
  createLocalActivations,
  createStoreMarkets,
  followDatasetEvents,
  type StoreContext,
} from '#services/stores/serving.js';
import { createDatasetJobs } from '#services/stores/jobs.js';
import type { DatasetLoading } from '#services/stores/loading.js';
import { localStoreFiles, type SourceContext } from '#services/shared/store-documents.js';
import { openHome } from '#store/home/home.js';
import { openStore, type Store } from '#store/open-store.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { createTestContext } from '../context.js';
import { createDatasetDocument, LOADED_AT } from './dataset-documents.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';

const createFolder = openTemporaryFolders();

function createHandle(datasetId: string, price: number): MarketHandle {
  const content = {
    datasetId,
    contentHash: String(price).padStart(64, '0'),
    adjustment: 'none' as const,
    identifiers: ['A'],
    dates: Int32Array.of(19_724),
  };
  return shareMarket({
    ...content,
    fields: new Map([['CLOSE', allocateEmptyPanel(1).fill(price)]]),
    ...NO_TABLES,
  });
}

/** Runs a test of store jobs over a real document store. The reader finds one bar at a price. */
async function addJobs(
  work: (parts: {
    readonly store: Store;
    readonly markets: ReturnType<typeof createServedMarkets>;
    readonly jobs: ReturnType<typeof createDatasetJobs>;
    readonly folder: string;
  }) => Promise<void>,
) {
  const folder = await createFolder();
  const home = await openHome(join(folder, 'home'));
  const store = await openStore({ home, onFailure: () => {} });
  const markets = createServedMarkets();
  markets.settle();
  const summary = {
    contentHash: '2'.repeat(64),
    identifiers: 1,
    start: 19_724,
    end: 19_724,
    rows: { market: 1, reference: 0, corporate_actions: 0, universes: 0 },
    bytes: 1,
    files: [],
    warnings: [],
  };
  const loading: DatasetLoading = {
    unchanged: async () => undefined,
    async read({ store_id }) {
      return { kind: 'loaded', summary, served: await prepareServedMarket(createHandle(store_id, 2), LOADED_AT) };
    },
    async readAddition({ store_id }) {
      return {
        kind: 'added',
        summary,
        handle: createHandle(store_id, 2),
        isWhole: true,
        unchangedTables: [],
        files: [],
      };
    },
  };
  const sources = createTestContext<SourceContext>({
    documents: store.documents,
    markets,
    folders: createManagedFolders(join(folder, 'stores')),
    files: localStoreFiles,
    calendars: openCalendars(),
    calendarsInUse: async () => ({ codes: [] }),
    timestamp: () => LOADED_AT,
  });
  // Each store that is not served has content 1.
  const load = ({ store_id: id }: DatasetDocument) => prepareServedMarket(createHandle(id, 1), LOADED_AT);
  const context = createTestContext<StoreContext>({
    ...sources,
    stores: createStoreMarkets(sources, load, 2 ** 30),
    activations: createLocalActivations(markets, 'build'),
    loading,
    versions: { prepare: async () => null, preserve: async () => null, onContent: () => {} },
  });
  followDatasetEvents(context);
  const jobs = createDatasetJobs(context);
  await store.documents.transaction(async (tx) => {
    await tx.put('store', 'old', createDatasetDocument('old', { active: true }));
    await tx.put('store', 'new', createDatasetDocument('new', { active: false }));
  });
  markets.serve(await prepareServedMarket(createHandle('old', 1), LOADED_AT));
  try {
    await work({ store, markets, jobs, folder });
  } finally {
    await store.close();
    await home.close();
  }
}

const createAttempt = (outcome?: unknown): Attempt => ({
  jobId: 'job',
  signal: new AbortController().signal,
  report: () => {},
  compute: async () => outcome as never, // the only task that the jobs request
  computed: () => {},
  inParts: () => Promise.reject(new Error('it has one part')),
  outputs: () => {
    throw new Error('nothing is kept');
  },
  write: () => Promise.reject(new Error('nothing is kept')),
  drop: () => Promise.reject(new Error('nothing is kept')),
  share: () => Promise.reject(new Error('nothing is kept')),
});

/** Ends a job as the engine does, in one transaction. */
async function end(store: Store, completion: Completion, refusal?: Error): Promise<void> {
  await store.documents.transaction(async (tx) => {
    await completion.effect?.(tx);
    if (refusal !== undefined) throw refusal;
  });
}

/** Request for a synthetic store of ten securities over a quarter. */
const GENERATE = {
  store_id: 'made',
  name: 'made',
  created_at: LOADED_AT,
  request: {
    assets: 10,
    start: '2020-01-01',
    end: '2020-03-31',
    seed: 1,
    calendar: 'XNYS',
    currency: 'USD',
    sectors: 2,
    market_return: 0.07,
    market_volatility: 0.16,
    specific_volatility: 0.25,
    dividend_yield: 0.02,
    splits_per_year: 0.03,
    delistings_per_year: 0.01,
    listings_per_year: 0.01,
    missing_rate: 0,
    activate: false,
  },
};

const readBody = async (store: Store, id: string) =>
  DatasetDocument.parse(((await store.documents.get('store', id)) as { readonly body: unknown }).body);

test('a load whose end cannot be written leaves the served store in memory and on disk unchanged', () =>
  addJobs(async ({ store, markets, jobs }) => {
    const completion = await jobs.load.run({ store_id: 'new' }, createAttempt());
    await expect(end(store, completion, new Error('the disk is full'))).rejects.toThrow('the disk is full');
    expect([
      markets.served()?.handle.datasetId,
      (await readBody(store, 'old')).active,
      (await readBody(store, 'new')).active,
    ]).toEqual(['old', true, false]);
    await end(store, completion);
    expect([
      markets.served()?.handle.datasetId,
      (await readBody(store, 'old')).active,
      (await readBody(store, 'new')).active,
    ]).toEqual(['new', false, true]);
  }));

test('a refresh whose end cannot be written serves the previous version, and one that lost its store to an activation writes nothing', () =>
  addJobs(async ({ store, markets, jobs }) => {
    const noCounts = { added: 0, changed: 0, removed: 0 };
    const report = {
      rows_added: 1,
      rows_changed: 0,
      dates_added: 1,
      identifiers_added: 0,
      start: '2024-01-02',
      end: '2024-01-03',
      restatements: [],
      restatements_total: 0,
      left_out: null,
      split_restatements: [],
      rejected: [],
      rejected_total: 0,
      findings: [],
      datasets: { market: noCounts, reference: noCounts, corporate_actions: noCounts, universes: noCounts },
    };
    const refresh = () =>
      jobs.refresh.run(
        { store_id: 'old', until: null, full: false, dry_run: false, fail_on: [] },
        createAttempt({ handle: createHandle('old', 3), report, identifiers: 1, warnings: [], newWarnings: [] }),
      );
    const completion = await refresh();
    await expect(end(store, completion, new Error('the disk is full'))).rejects.toThrow('the disk is full');
    expect([markets.served()?.market.fields.get('CLOSE')?.[0], (await readBody(store, 'old')).end]).toEqual([
      1,
      '2024-01-02',
    ]);
    await end(store, completion);
    expect([markets.served()?.market.fields.get('CLOSE')?.[0], (await readBody(store, 'old')).end]).toEqual([
      3,
      '2024-01-03',
    ]);
    const lateOutcome = await refresh();
    await end(store, await jobs.load.run({ store_id: 'new' }, createAttempt()));
    await end(store, lateOutcome); // the content of the job's store, which is no longer active
    expect((await readBody(store, 'old')).active).toBe(false);
    expect([markets.served()?.handle.datasetId, (await readBody(store, 'new')).active]).toEqual(['new', true]);
  }));

test('a synthetic refresh removes the replaced folder only after the new one is the store', () =>
  addJobs(async ({ store, jobs, folder }) => {
    await end(store, await jobs.generate.run(GENERATE, createAttempt()));
    const locationBefore = (await readBody(store, 'made')).location!;
    const report = { rows_added: 1, findings: [] };
    const refreshedRun = await jobs.refresh.run(
      { store_id: 'made', until: '2020-06-30', full: false, dry_run: false, fail_on: [] },
      createAttempt({ handle: createHandle('made', 1), report, identifiers: 10, warnings: [], newWarnings: [] }),
    );
    expect(existsSync(locationBefore)).toBe(true);
    await end(store, refreshedRun);
    const locationAfter = (await readBody(store, 'made')).location!;
    expect(locationAfter.startsWith(join(folder, 'stores'))).toBe(true);
    expect(locationAfter).not.toBe(locationBefore);
    await expect.poll(() => existsSync(locationBefore)).toBe(false);
    expect(existsSync(join(locationAfter, 'market.parquet'))).toBe(true);
  }));

test('a refresh that fills the disk reports it, removes its files, and leaves the store unchanged', ({ skip }) =>
  addJobs(async ({ store, markets, jobs, folder }) => {
    const storesFolder = join(folder, 'stores');
    mkdirSync(storesFolder);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=192k', 'tmpfs', storesFolder], { stdio: 'pipe' });
    } catch {
      return skip('mounting a small volume needs more rights than this user has');
    }
    try {
      await end(store, await jobs.generate.run(GENERATE, createAttempt()));
      const before = await readBody(store, 'made');
      // Five years of these securities are about ten times as large as the volume.
      await expect(
        jobs.refresh.run(
          { store_id: 'made', until: '2024-12-31', full: false, dry_run: false, fail_on: [] },
          createAttempt(),
        ),
      ).rejects.toMatchObject({ code: 'STORAGE_FULL' });
      expect(await readBody(store, 'made')).toEqual(before);
      expect(readdirSync(storesFolder).map((name) => join(storesFolder, name))).toEqual([before.location]);
      expect(existsSync(join(before.location!, 'market.parquet'))).toBe(true);
      expect(markets.served()?.handle.datasetId).toBe('old');
    } finally {
      execFileSync('umount', ['-l', storesFolder]);
    }
  }));
