import { rmSync, writeFileSync } from 'node:fs';
import { cp, mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { StoreDocument } from '#domain/documents/store-document.js';
import type { Attempt, JobKind } from '#jobs/job-kind.js';
import type { RefreshMarketInput } from '#jobs/tasks.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { createDatabasePlaces } from '#market/sources/databases/database-place.js';
import { folderFiles } from '#market/sources/folder.js';
import { knownFiles, unreadFiles } from '#market/sources/known-files.js';
import { createLocations } from '#market/sources/locations.js';
import { createManagedFolders } from '#market/content/managed-folder.js';
import { createProblems } from '#market/content/problems.js';
import type { RefreshReport } from '#market/content/refresh-report.js';
import { createServedMarkets } from '#market/serving/served-markets.js';
import { followStoreEvents } from '#services/datasets/events.js';
import { createStoreJobs } from '#services/datasets/jobs.js';
import { createStoreLoading } from '#services/datasets/loading.js';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { refreshMarket } from '#workers/refresh-market.js';
import { childrenOf, readersOf } from '../../market/process/reading-processes.js';
import { temporaryFolders } from '../../store/temporary-folder.js';

const newFolder = temporaryFolders();

/** Later than anything a test writes: every file has been left alone for long. */
const AT = '2100-01-04T00:00:00.000Z';

const documentOf = (storeId: string, location: string): StoreDocument => ({
  store_id: storeId,
  name: storeId,
  kind: 'folder',
  managed: false,
  active: false,
  writing: false,
  location,
  source: location,
  tables: {},
  adjustment: 'none',
  currency: null,
  created_at: AT,
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

interface Wish {
  readonly until?: string | null;
  readonly full?: boolean;
  readonly onReading?: () => void;
}

interface Desk {
  /** The folder of the store. */
  readonly location: string;
  write(files: Record<string, string>): Promise<void>;
  /** @param onReading called when the reading has begun */
  load(onReading?: () => void): Promise<void>;
  refresh(wish?: Wish): Promise<RefreshReport>;
  /** Content hash of the version that is served. */
  served(): string | undefined;
  /** The store as its document tells of it. */
  store(): Promise<StoreDocument>;
  /** What the document of a store of a copy of the folder tells, read whole. */
  readWhole(): Promise<StoreDocument>;
}

/** A served folder with the jobs of stores over it, everything but the queue. */
async function withDesk(work: (desk: Desk) => Promise<void>): Promise<void> {
  const base = await newFolder();
  const home = await openHome(join(base, 'home'));
  const { documents, ...store } = await openStore({ home, onFailure: () => {} });
  const markets = createServedMarkets();
  markets.settle();
  const locations = createLocations([base]);
  const loading = createStoreLoading({
    locations,
    databases: createDatabasePlaces({ locations, hosts: [] }),
    calendarsInUse: async () => [],
    timestamp: () => AT,
  });
  const folders = createManagedFolders(join(base, 'stores'));
  followStoreEvents({ documents, markets, folders });
  const jobs = createStoreJobs({
    documents,
    markets,
    loading,
    folders,
    calendars: openCalendars(),
    calendarsInUse: async () => [],
    timestamp: () => AT,
  });
  const location = join(base, 'served');
  let copies = 0;

  const attempt: Attempt = {
    jobId: 'job',
    signal: new AbortController().signal,
    report: () => {},
    compute: async (_task, input) => refreshMarket(input as RefreshMarketInput, { report: () => {} }) as never, // the one task that is asked for
    keep: () => Promise.reject(new Error('nothing is kept')),
    share: () => Promise.reject(new Error('nothing is kept')),
  };
  async function run<P>(kind: JobKind<P>, payload: P, onReading?: () => void): Promise<unknown> {
    let begun = onReading;
    const report = () => {
      begun?.();
      begun = undefined;
    };
    const { effect, result } = await kind.run(payload, { ...attempt, report });
    await documents.transaction(async (tx) => effect?.(tx));
    return 'value' in result ? result.value : undefined;
  }
  const bodyOf = async (id: string) =>
    StoreDocument.parse(((await documents.get('store', id)) as { readonly body: unknown }).body);
  const put = (id: string, place: string) => documents.transaction((tx) => tx.put('store', id, documentOf(id, place)));

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
      refresh: async ({ until = null, full = false, onReading }: Wish = {}) =>
        (await run(jobs.refresh, { store_id: 'served', until, full }, onReading)) as RefreshReport,
      served: () => markets.served()?.handle.contentHash,
      store: () => bodyOf('served'),
      async readWhole() {
        const [id, copy] = [`copy-${++copies}`, join(base, `copy-${copies}`)];
        await cp(location, copy, { recursive: true });
        await put(id, copy);
        const served = markets.served()!; // the store that was loaded first
        await run(jobs.load, { store_id: id });
        markets.serve(served);
        await documents.transaction(async (tx) =>
          tx.put('store', 'served', { ...(await bodyOf('served')), active: true }),
        );
        return bodyOf(id);
      },
    });
  } finally {
    await store.close();
    await home.close();
  }
}

const bars = (day: string, rows: readonly string[], columns = 'CLOSE') => ({
  [`market/${day}.csv`]: `identifier,date,${columns}\n${rows.join('\n')}\n`,
});
const actions = (...rows: readonly string[]) => ({
  'corporate_actions.csv': `identifier,type,value,ex_date\n${rows.join('\n')}\n`,
});
const told = ({ content_hash, rows, files, start, end, identifiers, size_bytes }: StoreDocument) => ({
  content_hash,
  rows,
  files,
  start,
  end,
  identifiers,
  size_bytes,
});

test('a refresh gives what the folder gives when it is read whole, whatever is new in it', () =>
  withDesk(async ({ write, load, refresh, store, readWhole }) => {
    await write({
      ...bars('2024-01-02', ['A,2024-01-02,10', 'B,2024-01-02,20']),
      ...bars('2024-01-03', ['A,2024-01-03,11', 'B,2024-01-03,21']),
    });
    await write({
      ...actions('A,DIVIDEND,0.5,2024-01-03'),
      'universes.csv': 'universe,identifier,start,end\nALL,A,,\n',
    });
    await load();
    const steps: readonly (readonly [Record<string, string>, object])[] = [
      [{}, { rows_added: 0, dates_added: 0 }],
      [
        bars('2024-01-04', ['A,2024-01-04,12', 'B,2024-01-04,22']),
        { rows_added: 2, dates_added: 1, identifiers_added: 0 },
      ],
      [actions('A,DIVIDEND,0.5,2024-01-03', 'B,SPLIT,2,2024-01-04'), { rows_added: 1, dates_added: 0 }],
      [
        bars('2024-01-05', ['A,2024-01-05,13,5', 'C,2024-01-05,30,6'], 'CLOSE,VOLUME'),
        { rows_added: 2, identifiers_added: 1 },
      ],
      [
        { ...bars('2024-01-08', ['A,2024-01-08,14']), 'reference.csv': 'identifier,NAME\nA,Alpha\n' },
        { rows_added: 2, identifiers_added: 0 },
      ],
      [bars('2024-01-08', ['A,2024-01-08,14', 'A,2024-01-09,15']), { rows_added: 1, dates_added: 1 }],
      // Written again as it was, and with other rows.
      [
        { ...bars('2024-01-10', ['B,2024-01-10,16']), 'reference.csv': 'identifier,NAME\nA,Alpha\n' },
        { rows_added: 1 },
      ],
      [{ 'reference.csv': 'identifier,NAME\nA,Alfa\nB,Beta\n' }, { rows_added: 1, rows_changed: 1 }],
    ];
    for (const [files, outcome] of steps) {
      await write(files);
      expect(await refresh()).toMatchObject(outcome);
      expect(told(await store())).toEqual(told(await readWhole()));
    }
  }));

test('a table that is gone from the folder is gone from the store', () =>
  withDesk(async ({ write, load, refresh, store, readWhole, location }) => {
    await write({ ...bars('2024-01-02', ['A,2024-01-02,10']), 'reference.csv': 'identifier,NAME\nA,Alpha\n' });
    await load();
    await rm(join(location, 'reference.csv'));
    await refresh();
    expect((await store()).rows).toMatchObject({ reference: 0 });
    expect(told(await store())).toEqual(told(await readWhole()));
  }));

test('a refresh that stopped at a day finds the rest of the same files the next time', () =>
  withDesk(async ({ write, load, refresh, store, readWhole }) => {
    await write(bars('2024-01-02', ['A,2024-01-02,10']));
    await load();
    await write(bars('2024-01-03', ['A,2024-01-03,11', 'A,2024-01-04,12']));
    expect(await refresh({ until: '2024-01-03' })).toMatchObject({ rows_added: 1, end: '2024-01-03' });
    expect(await refresh()).toMatchObject({ rows_added: 1, end: '2024-01-04' });
    expect((await store()).content_hash).toBe((await readWhole()).content_hash);
  }));

test('a new file that lacks a column the others have is read as one of them, and one that is damaged is told of', () =>
  withDesk(async ({ write, load, refresh, store, readWhole }) => {
    const row = (day: number, close: number | null) =>
      JSON.stringify({
        identifier: 'A',
        date: `2024-01-0${day}`,
        ...(close === null ? {} : { CLOSE: close }),
        VOLUME: day,
      });
    await write({ 'market/1.jsonl': `${row(2, 10)}\n` });
    await load();
    await write({ 'market/2.jsonl': `${row(3, 11)}\n` });
    expect(await refresh()).toMatchObject({ rows_added: 1 });
    expect((await store()).content_hash).toBe((await readWhole()).content_hash);
    await write({ 'market/3.jsonl': '{"identifier":"A","date":"2024-01-04","CLOSE":"text"}\n' });
    await expect(refresh()).rejects.toMatchObject({
      code: 'STORE_READ_FAILED',
      detail: { findings: [{ code: 'NOT_A_NUMBER', path: 'market/3.jsonl[row 1].CLOSE' }] },
    });
    expect((await store()).end).toBe('2024-01-03');
  }));

test('a full refresh finds what was restated in a file whose time and length are what they were', () =>
  withDesk(async ({ write, load, refresh, store, readWhole, location }) => {
    const file = join(location, 'market', '2024-01-02.csv');
    await write(bars('2024-01-02', ['A,2024-01-02,10']));
    await load();
    const { atime, mtime } = await stat(file);
    await write(bars('2024-01-02', ['A,2024-01-02,19']));
    await utimes(file, atime, mtime);
    expect(await refresh({ full: true })).toMatchObject({
      restatements: [{ identifier: 'A', date: '2024-01-02', column: 'CLOSE', before: 10, after: 19 }],
      restatements_total: 1,
    });
    expect(told(await store())).toEqual(told(await readWhole()));
  }));

test('only files that have come or changed are read again, and tables of which none has', () =>
  withDesk(async ({ write, location }) => {
    const listed = async () => folderFiles(location, {}, createLocations([location]), createProblems());
    const labels = (files: Awaited<ReturnType<typeof listed>>) =>
      Object.values(files).flatMap((all) => all.map(({ label }) => label));
    await write({
      ...bars('2024-01-02', ['A,2024-01-02,10']),
      ...actions('A,SPLIT,2,2024-01-02'),
      'reference/1.csv': 'identifier\nA\n',
      'reference/2.csv': 'identifier\nB\n',
    });
    const files = await listed();
    const digests = labels(files).map((label) => ({ label, bytes: 1, sha256: '' }));
    const known = knownFiles(files, digests, Date.parse(AT));
    expect(unreadFiles(files, known)).toMatchObject({
      kept: ['reference', 'corporate_actions', 'universes', 'series'],
      files: { market: [], reference: [], corporate_actions: [], universes: [] },
    });

    await write({ ...bars('2024-01-03', ['A,2024-01-03,10']), 'reference/2.csv': 'identifier\nC\n' });
    const later = unreadFiles(await listed(), known);
    expect([labels(later.files), later.kept]).toEqual([
      ['market/2024-01-03.csv', 'reference/1.csv', 'reference/2.csv'],
      ['corporate_actions', 'universes', 'series'],
    ]);

    // A file that was written the moment before it was read may have been written again in the same tick of the clock.
    const { changedAt } = files.market[0]!;
    expect(unreadFiles(files, knownFiles(files, digests, changedAt + 1000))).toMatchObject({
      files,
      unchanged: [],
      kept: ['universes', 'series'],
    });
    expect(unreadFiles(files, knownFiles(files, digests, changedAt + 60_000)).unchanged).toHaveLength(4);
  }));

describe('a folder that changes while it is read', () => {
  const extra = 'identifier,date,CLOSE\nA,2024-01-04,12\n';
  test.each<[string, string, (folder: string) => void]>([
    [
      'gains a file',
      'market/2024-01-04.csv',
      (folder) => writeFileSync(join(folder, 'market', '2024-01-04.csv'), extra),
    ],
    ['loses a file', 'market/2024-01-03.csv', (folder) => rmSync(join(folder, 'market', '2024-01-03.csv'))],
    [
      'gains a table',
      'universes',
      (folder) => writeFileSync(join(folder, 'universes.csv'), 'universe,identifier\nALL,A\n'),
    ],
  ])('and %s fails its load and its refresh, which say so, and the served version goes on', (_what, label, change) =>
    withDesk(async ({ write, load, refresh, store, served, location }) => {
      const folder = { ...bars('2024-01-02', ['A,2024-01-02,10']), ...bars('2024-01-03', ['A,2024-01-03,11']) };
      await write(folder);
      await load();
      const before = [served(), (await store()).content_hash, (await store()).end];
      const refused = {
        code: 'STORE_READ_FAILED',
        detail: {
          findings: expect.arrayContaining([
            expect.objectContaining({ code: 'UNREADABLE_FILE', path: label }),
          ]) as object,
        },
      };
      for (const attempt of [
        () => load(() => change(location)),
        () => refresh({ full: true, onReading: () => change(location) }),
        () => refresh({ onReading: () => change(location) }),
      ]) {
        await rm(location, { recursive: true });
        await write(folder);
        await expect(attempt()).rejects.toMatchObject(refused);
        expect([served(), (await store()).content_hash, (await store()).end]).toEqual(before);
      }
      await load();
      expect((await store()).error).toBeNull();
    }),
  );
});

test('a reading process that is killed fails its job, and the next one reads', () =>
  withDesk(async ({ write, load, refresh, store, served }) => {
    const many = Array.from(
      { length: 200_000 },
      (_, i) =>
        `N${i % 400},${new Date(Date.UTC(2020, 0, 1 + Math.floor(i / 400))).toISOString().slice(0, 10)},${1 + (i % 977)}`,
    );
    await write({ 'market.csv': `identifier,date,CLOSE\n${many.join('\n')}\n` });
    await load();
    const before = served();
    const killed = {
      code: 'STORE_READ_FAILED',
      message: expect.stringMatching(/ended before it was done \((SIGKILL|exit null)\)/) as string,
    };
    for (const victims of [
      () => readersOf(process.pid),
      () => childrenOf(process.pid).filter((pid) => childrenOf(pid).length > 0),
    ]) {
      const kill = () => victims().forEach((pid) => process.kill(pid, 'SIGKILL'));
      await expect(refresh({ full: true, onReading: kill })).rejects.toMatchObject(killed);
      expect([served(), (await store()).content_hash]).toEqual([before, before]);
      expect((await refresh({ full: true })).rows_changed).toBe(0);
    }
  }));
