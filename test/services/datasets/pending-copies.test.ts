import { expect, test } from 'vitest';
import { shareMarket } from '#domain/market/market-data.js';
import type { Jobs } from '#jobs/port/job-kind.js';
import { digestContent } from '#market/content/content-hash.js';
import { createServedMarkets, prepareServedMarket, type ServedMarket } from '#market/serve/served-markets.js';
import { recordDataVersion, type SourceContext } from '#services/shared/store-documents.js';
import { createDataVersions, type DataHistory } from '#services/stores/data-versions.js';
import { openArtifacts } from '#store/artifacts/folder-store.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { copyMarket, rebuildEarlierMarket, writeContentChange, writeContentCopy } from '#workers/market/markets.js';
import { createMemoryEngine } from '../../store/memory-engine.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';
import { createTestContext } from '../context.js';

const LOADED_AT = '2024-02-01T00:00:00.000Z';
const TASKS = {
  'content-change': writeContentChange,
  'content-copy': writeContentCopy,
  'copied-market': copyMarket,
  'earlier-market': rebuildEarlierMarket,
} as const;

/** Returns a served market of one security with the given closes. Loading a store would create the same. */
async function createMarket(...closes: readonly number[]): Promise<ServedMarket> {
  const content = {
    identifiers: ['A'],
    dates: Int32Array.from(closes, (_, t) => 19_700 + t),
    fields: new Map([['CLOSE', Float64Array.from(closes)]]),
    ...NO_TABLES,
  };
  const { hash, digests } = await digestContent(content);
  const market = { ...content, datasetId: 'f', adjustment: 'none' as const, currency: null, contentHash: hash };
  return prepareServedMarket({ ...shareMarket(market), digests }, LOADED_AT);
}

interface Desk {
  readonly versions: DataHistory;
  readonly failures: unknown[];
  serve(market: ServedMarket): Promise<void>;
  /** Allows waiting and later copies to be made. */
  release(): void;
}

/** Time in ms that the process waits for its copies when it ends. It is longer than this test. */
const COPY_WAIT_MS = 600_000;

/** Creates a process on documents and files. Its threads make no copies until the test allows them to. */
function createDesk(
  { documents, artifacts }: { documents: DocumentStore; artifacts: ArtifactStore },
  copyWaitMs = COPY_WAIT_MS,
): Desk {
  const markets = createServedMarkets();
  let release = (): void => {};
  const releasing = new Promise<void>((resolve) => (release = resolve));
  const failures: unknown[] = [];
  const run = (name: keyof typeof TASKS, input: unknown) =>
    TASKS[name](input as never, { report: () => {} } as never) as Promise<never>;
  const jobs: Pick<Jobs, 'query' | 'aside'> = {
    query: async (name, input) => run(name as keyof typeof TASKS, input),
    async aside(name, input, signal) {
      await Promise.race([
        releasing,
        new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
      ]);
      return run(name as keyof typeof TASKS, input);
    },
  };
  const onCopyFailure = (cause: unknown): void => void failures.push(cause);
  const timestamp = () => LOADED_AT;
  const context = createTestContext<SourceContext>({ documents, artifacts, jobs, markets, timestamp });
  const versions = createDataVersions(context, { copyWaitMs, onCopyFailure });
  return {
    versions,
    failures,
    release: () => release(),
    async serve(market) {
      const preparedVersion = await versions.prepare(market, { source: 'refresh', kind: 'folder' });
      await documents.transaction(async (tx) => {
        await tx.put('store', 'f', STORE);
        if (preparedVersion !== null) await recordDataVersion(tx, preparedVersion, 1);
      });
      const event = markets.activation(market);
      markets.activate(event);
      versions.onContent(event);
    },
  };
}

const STORE = {
  store_id: 'f',
  name: 'f',
  kind: 'folder',
  managed: false,
  active: true,
  writing: false,
  location: '/f',
  source: '/f',
  tables: {},
  mapping: null,
  derived_actions: null,
  taken_at_start: null,
  adjustment: 'none',
  currency: null,
  created_at: LOADED_AT,
  last_loaded_at: null,
  last_refreshed_at: null,
  identifiers: null,
  start: null,
  end: null,
  size_bytes: null,
  content_hash: null,
  rows: null,
  files: [],
  error: null,
  findings: [],
  synthetic: null,
};

async function openStoragePlaces() {
  const documents = createMemoryEngine().open();
  return { documents, artifacts: await openArtifacts(await createTemporaryFolder()) };
}

const listCopies = async ({ versions }: Desk) => {
  const { copy, versions: all } = await versions.list('f', { limit: 10 });
  return [copy, ...all.map(({ version, readable }) => [version, readable])];
};

test('a content is served before it is copied, and the replaced one remains available meanwhile', async () => {
  const desk = createDesk(await openStoragePlaces());
  await desk.serve(await createMarket(1, 2));
  expect(await listCopies(desk)).toEqual(['pending', [1, true]]);
  await desk.serve(await createMarket(5, 2, 7));
  expect(await listCopies(desk)).toEqual(['pending', [2, true], [1, true]]);
  const earlierVersion = await desk.versions.at(1);
  expect([...earlierVersion.served.market.fields.get('CLOSE')!]).toEqual([1, 2]);
  desk.release();
  await desk.versions.close();
  expect(await listCopies(desk)).toEqual(['made', [2, true], [1, true]]);
  expect(desk.failures).toEqual([]);
});

test('a process that ends waits for its copies for a limited time', async () => {
  const places = await openStoragePlaces();
  const desk = createDesk(places, 20);
  await desk.serve(await createMarket(1, 2)); // never released: the copy takes longer than the limit
  await desk.versions.close();
  expect(await listCopies(createDesk(places))).toEqual(['missing', [1, true]]);
  expect(desk.failures).toEqual([]);

  const next = createDesk(places);
  await next.serve(await createMarket(1, 2));
  const closing = next.versions.close();
  setTimeout(next.release, 50);
  await closing;
  expect(await listCopies(next)).toEqual(['made', [1, true]]);
});

test('a copy interrupted by a kill is made at the next start, if the source still has the content', async () => {
  const places = await openStoragePlaces();
  await createDesk(places).serve(await createMarket(1, 2)); // never released, because the process ends
  const next = createDesk(places);
  expect(await listCopies(next)).toEqual(['missing', [1, true]]);
  await next.serve(await createMarket(1, 2));
  next.release();
  await next.versions.close();
  expect(await listCopies(next)).toEqual(['made', [1, true]]);
  // At the third start the source has other content. The copy contains the previous content.
  const third = createDesk(places);
  await third.serve(await createMarket(3, 2));
  expect([...(await third.versions.at(1)).served.market.fields.get('CLOSE')!]).toEqual([1, 2]);
});

test('a version whose copy was interrupted and whose source has changed is reported as lost', async () => {
  const places = await openStoragePlaces();
  await createDesk(places).serve(await createMarket(1, 2));
  const next = createDesk(places);
  await next.serve(await createMarket(3, 2));
  expect(await listCopies(next)).toEqual(['pending', [2, true], [1, false]]);
  await expect(next.versions.at(1)).rejects.toMatchObject({ code: 'NO_DATA_KNOWN' });
});

test('a copy is renewed in the background while the previous one is valid', async () => {
  const places = await openStoragePlaces();
  const first = createDesk(places);
  first.release();
  await first.serve(await createMarket(1));
  await first.versions.close();
  const second = createDesk(places);
  for (let close = 2; close <= 6; close++) await second.serve(await createMarket(close));
  // No copy has been released since. If a start finds other content, it has the whole first copy and reports changes
  // from it.
  const third = createDesk(places);
  await third.serve(await createMarket(100));
  expect([...(await third.versions.at(6)).served.market.fields.get('CLOSE')!]).toEqual([6]);
  expect([...(await third.versions.at(1)).served.market.fields.get('CLOSE')!]).toEqual([1]);
  third.release();
  await third.versions.close();
  expect(await listCopies(third)).toEqual(['made', ...[7, 6, 5, 4, 3, 2, 1].map((version) => [version, true])]);
});
