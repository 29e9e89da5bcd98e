import { cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatasetDocument } from '#domain/definition/datasets.js';
import type { Mapping } from '#domain/definition/mapping.js';
import type { Attempt, JobKind } from '#jobs/port/job-kind.js';
import type { RefreshMarketInput } from '#jobs/tasks/markets.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createDatabaseLocations } from '#market/read/database-location.js';
import { createLocations } from '#market/read/folder.js';
import { createManagedFolders } from '#market/content/managed-folder.js';
import type { RefreshReport } from '#market/judge/refresh.js';
import { createServedMarkets } from '#market/serve/served-markets.js';
import {
  createLocalActivations,
  createStoreMarkets,
  followDatasetEvents,
  type StoreContext,
} from '#services/stores/serving.js';
import { createDatasetJobs } from '#services/stores/jobs.js';
import { createDatasetLoading } from '#services/stores/loading.js';
import { localStoreFiles, type SourceContext } from '#services/shared/store-documents.js';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { refreshMarket } from '#workers/market/markets.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { createTestContext } from '../context.js';

/** Time that is later than all writes of a test. So every file counts as unchanged for a long time. */
export const REFRESHED_AT = '2100-01-04T00:00:00.000Z';

const createDocument = (datasetId: string, location: string, mapping: Mapping | null): DatasetDocument => ({
  store_id: datasetId,
  name: datasetId,
  kind: 'folder',
  managed: false,
  active: false,
  writing: false,
  location,
  source: location,
  tables: {},
  mapping,
  derived_actions: null,
  taken_at_start: null,
  adjustment: 'none',
  currency: null,
  created_at: REFRESHED_AT,
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
});

interface RefreshRequest {
  readonly until?: string | null;
  readonly full?: boolean;
  readonly isTrial?: boolean;
  readonly failOn?: readonly string[];
  readonly onReading?: () => void;
}

interface Desk {
  /** The folder of the store. */
  readonly location: string;
  write(files: Record<string, string>): Promise<void>;
  /** @param onReading called when reading has begun */
  load(onReading?: () => void): Promise<void>;
  refresh(wish?: RefreshRequest): Promise<RefreshReport>;
  /** Returns the content hash of the served version. */
  served(): string | undefined;
  store(): Promise<DatasetDocument>;
  /** Returns the document of a store on a copy of the folder. The copy was read as a whole. */
  readWhole(): Promise<DatasetDocument>;
}

/** Runs a test on a served folder. It has the jobs of stores but no queue. */
export async function runWithDesk(work: (desk: Desk) => Promise<void>, mapping: Mapping | null = null): Promise<void> {
  const base = await createTemporaryFolder();
  const home = await openHome(join(base, 'home'));
  const { documents, ...store } = await openStore({ home, onFailure: () => {} });
  const markets = createServedMarkets();
  markets.settle();
  const locations = createLocations([base]);
  const databases = createDatabaseLocations({ locations, hosts: [] });
  const sources = createTestContext<SourceContext>({
    documents,
    markets,
    locations,
    databases,
    folders: createManagedFolders(join(base, 'stores')),
    files: localStoreFiles,
    calendars: openCalendars(),
    calendarsInUse: async () => ({ codes: [] }),
    timestamp: () => REFRESHED_AT,
  });
  const loading = createDatasetLoading(sources, async () => false);
  const load = async (document: DatasetDocument) => {
    const read = await loading.read(document, { serve: true });
    if (read.kind === 'refused') throw new Error('the store was refused');
    return read.served!;
  };
  const context = createTestContext<StoreContext>({
    ...sources,
    activations: createLocalActivations(markets, 'build'),
    loading,
    stores: createStoreMarkets(sources, load, 2 ** 30),
    versions: { prepare: async () => null, preserve: async () => null, onContent: () => {} },
  });
  followDatasetEvents(context);
  const jobs = createDatasetJobs(context);
  const location = join(base, 'served');
  let copies = 0;

  const attempt: Attempt = {
    jobId: 'job',
    signal: new AbortController().signal,
    report: () => {},
    // the only task that the jobs request
    compute: async (_task, input) => refreshMarket(input as RefreshMarketInput, { report: () => {} }) as never,
    computed: () => {},
    outputs: () => {
      throw new Error('nothing is kept');
    },
    write: () => Promise.reject(new Error('nothing is kept')),
    drop: () => Promise.reject(new Error('nothing is kept')),
    share: () => Promise.reject(new Error('nothing is kept')),
    inParts: () => Promise.reject(new Error('it has one part')),
  };
  async function run<P>(kind: JobKind<P>, payload: P, onReading?: () => void): Promise<unknown> {
    let onStart = onReading;
    const report = () => {
      onStart?.();
      onStart = undefined;
    };
    const { effect, result } = await kind.run(payload, { ...attempt, report });
    await documents.transaction(async (tx) => effect?.(tx));
    return 'value' in result ? result.value : undefined;
  }
  const readBody = async (id: string) =>
    DatasetDocument.parse(((await documents.get('store', id)) as { readonly body: unknown }).body);
  const put = (id: string, place: string) =>
    documents.transaction((tx) => tx.put('store', id, createDocument(id, place, mapping)));

  try {
    await put('served', location);
    await work({
      location,
      async write(files) {
        for (const [name, text] of Object.entries(files)) {
          await mkdir(dirname(join(location, name)), { recursive: true });
          await writeFile(join(location, name), text);
        }
      },
      load: async (onReading) => void (await run(jobs.load, { store_id: 'served' }, onReading)),
      refresh: async ({ until = null, full = false, isTrial = false, failOn = [], onReading }: RefreshRequest = {}) => {
        const payload = { store_id: 'served', until, full, dry_run: isTrial, fail_on: [...failOn] };
        return (await run(jobs.refresh, payload, onReading)) as RefreshReport;
      },
      served: () => markets.served()?.handle.contentHash,
      store: () => readBody('served'),
      async readWhole() {
        const [id, copy] = [`copy-${++copies}`, join(base, `copy-${copies}`)];
        await cp(location, copy, { recursive: true });
        await put(id, copy);
        const servedMarket = markets.served()!; // the store that was loaded first
        await run(jobs.load, { store_id: id });
        markets.serve(servedMarket);
        await documents.transaction(async (tx) =>
          tx.put('store', 'served', { ...(await readBody('served')), active: true }),
        );
        return readBody(id);
      },
    });
  } finally {
    await store.close();
    await home.close();
  }
}

export const createBars = (day: string, rows: readonly string[], columns = 'CLOSE') => ({
  [`market/${day}.csv`]: `identifier,date,${columns}\n${rows.join('\n')}\n`,
});
export const createActions = (...rows: readonly string[]) => ({
  'corporate_actions.csv': `identifier,type,value,ex_date\n${rows.join('\n')}\n`,
});
export const selectContent = ({ content_hash, rows, files, start, end, identifiers, size_bytes }: DatasetDocument) => ({
  content_hash,
  rows,
  files,
  start,
  end,
  identifiers,
  size_bytes,
});
