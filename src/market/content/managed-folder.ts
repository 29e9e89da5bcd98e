import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ParquetColumn } from '#base/parquet.js';
import { isStoreUnavailable } from '#domain/base/refusals.js';
import type { CorporateAction, ReferenceValue, SeriesTable } from '#domain/market/market-data.js';
import type { SourceDigest } from '../formats/source-file.js';
import { type RowGroup, writeParquet } from '../formats/write-parquet.js';
import type { MarketContent } from './market-content.js';

/** Number of rows per row group. It is the default of DuckDB, and small enough to keep a few columns in memory. */
const GROUP_ROWS = 122_880;

/**
 * Writes a content as Parquet files in the folder of a store. Reading them gives a bit-identical content. Empty
 * datasets have no file.
 */
export async function writeMarket(
  folder: string,
  content: MarketContent,
  onProgress: (fraction: number) => void,
): Promise<SourceDigest[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const files: SourceDigest[] = [];
  const write = async (label: string, groups: Iterable<RowGroup>) => {
    files.push({ label, ...(await writeParquet(join(folder, `${label}.parquet`), groups)) });
  };
  await write('market', createMarketGroups(content, onProgress));
  if (content.reference.rows.size > 0) await write('reference', [createReferenceGroup(content)]);
  if (content.actions.length > 0) await write('corporate_actions', [createActionGroup(content)]);
  if (content.universes.length > 0) await write('universes', [createUniverseGroup(content)]);
  if (content.series !== undefined) await write('series', createSeriesGroups(content.series));
  await flushFolder(folder);
  return files;
}

/** Writes the directory entries of a folder to disk, if the platform supports it. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/** Yields the bars by day, then identifier. A cell without a value in any field gives no row. */
function* createMarketGroups(
  { identifiers, dates, fields }: MarketContent,
  onProgress: (fraction: number) => void,
): Generator<RowGroup> {
  const assets = identifiers.length;
  const cells = dates.length * assets;
  const panels = [...fields];
  const close = fields.get('CLOSE')!;
  const hasValue = (cell: number) =>
    close[cell] === close[cell] || panels.some(([, panel]) => panel[cell] === panel[cell]);
  const chosenCells = new Int32Array(Math.min(GROUP_ROWS, cells));
  for (let cell = 0; cell < cells;) {
    let rows = 0;
    for (; cell < cells && rows < GROUP_ROWS; cell++) if (hasValue(cell)) chosenCells[rows++] = cell;
    if (rows === 0) return;
    onProgress(cell / cells);
    const pickedCells = chosenCells.subarray(0, rows);
    const firstDay = Math.floor(pickedCells[0]! / assets);
    const lastDay = Math.floor(pickedCells[rows - 1]! / assets);
    yield {
      rows,
      columns: [
        {
          name: 'date',
          kind: 'coded-day',
          codes: pickedCells.map((chosenCell) => Math.floor(chosenCell / assets) - firstDay),
          days: dates.slice(firstDay, lastDay + 1),
        },
        {
          name: 'identifier',
          kind: 'coded-text',
          codes: pickedCells.map((chosenCell) => chosenCell % assets),
          texts: identifiers,
        },
        ...panels.map(([name, panel]): ParquetColumn => ({ name, kind: 'double', values: gather(panel, pickedCells) })),
      ],
    };
  }
}

function gather(panel: Float64Array, cells: Int32Array): Float64Array {
  const values = new Float64Array(cells.length);
  for (let i = 0; i < cells.length; i++) values[i] = panel[cells[i]!]!;
  return values;
}

function createReferenceGroup({ reference }: MarketContent): RowGroup {
  const rows = [...reference.rows].flatMap(([identifier, spells]) =>
    spells.map(({ validFrom, values }) => ({ identifier, validFrom, values })),
  );
  const columns = reference.columns.map((name, i): ParquetColumn => {
    const values: ReferenceValue[] = rows.map((row) => row.values[i] ?? null);
    if (values.some((value) => typeof value === 'number'))
      return {
        name,
        kind: 'double',
        values: Float64Array.from(values, (value) => (typeof value === 'number' ? value : Number.NaN)),
      };
    if (values.some((value) => typeof value === 'boolean'))
      return { name, kind: 'boolean', values: values.map((value) => (typeof value === 'boolean' ? value : null)) };
    return { name, kind: 'text', values: values.map((value) => (value === null ? null : String(value))) };
  });
  const dateColumns: ParquetColumn[] = rows.some(({ validFrom }) => validFrom !== null)
    ? [{ name: 'valid_from', kind: 'day', values: rows.map(({ validFrom }) => validFrom) }]
    : [];
  return {
    rows: rows.length,
    columns: [
      { name: 'identifier', kind: 'text', values: rows.map(({ identifier }) => identifier) },
      ...dateColumns,
      ...columns,
    ],
  };
}

function createActionGroup({ actions }: MarketContent): RowGroup {
  return {
    rows: actions.length,
    columns: [
      { name: 'identifier', kind: 'text', values: actions.map(({ identifier }) => identifier) },
      { name: 'type', kind: 'text', values: actions.map(({ type }) => type) },
      { name: 'value', kind: 'double', values: Float64Array.from(actions, readStatedValue) },
      { name: 'ex_date', kind: 'day', values: actions.map(({ exDay }) => exDay) },
      { name: 'pay_date', kind: 'day', values: actions.map(({ payDay }) => payDay) },
      { name: 'status', kind: 'text', values: actions.map(({ status }) => status) },
      { name: 'announced', kind: 'day', values: actions.map(({ announcedDay }) => announcedDay) },
      { name: 'related', kind: 'text', values: actions.map(({ related }) => related) },
      {
        name: 'subscription_price',
        kind: 'double',
        values: Float64Array.from(actions, ({ subscriptionPrice }) => subscriptionPrice ?? Number.NaN),
      },
      ...createRareColumns(actions),
    ],
  };
}

/** Returns the value of an action, NaN for a payment that is not stated. */
const readStatedValue = ({ value, isUnpriced }: CorporateAction): number => (isUnpriced ? Number.NaN : value);

/** Returns columns that only few stores have. */
function createRareColumns(actions: MarketContent['actions']): ParquetColumn[] {
  const columns: readonly [keyof CorporateAction, ParquetColumn][] = [
    ['cash', { name: 'cash', kind: 'double', values: Float64Array.from(actions, ({ cash }) => cash ?? Number.NaN) }],
    [
      'scripRatio',
      {
        name: 'scrip_ratio',
        kind: 'double',
        values: Float64Array.from(actions, ({ scripRatio }) => scripRatio ?? Number.NaN),
      },
    ],
    [
      'electionDay',
      { name: 'election_date', kind: 'day', values: actions.map(({ electionDay }) => electionDay ?? null) },
    ],
    [
      'electionDefault',
      {
        name: 'election_default',
        kind: 'text',
        values: actions.map(({ electionDefault }) => electionDefault ?? null),
      },
    ],
  ];
  return columns.flatMap(([member, column]) => (actions.some((action) => member in action) ? [column] : []));
}

function createUniverseGroup({ universes }: MarketContent): RowGroup {
  return {
    rows: universes.length,
    columns: [
      { name: 'universe', kind: 'text', values: universes.map(({ universe }) => universe) },
      { name: 'identifier', kind: 'text', values: universes.map(({ identifier }) => identifier) },
      { name: 'start', kind: 'day', values: universes.map(({ start }) => start) },
      { name: 'end', kind: 'day', values: universes.map(({ end }) => end) },
    ],
  };
}

function* createSeriesGroups(series: SeriesTable): Generator<RowGroup> {
  for (const { identifier, currency, name, days, closes } of series.values()) {
    const repeat = (text: string | null): (string | null)[] => Array.from(days, () => text);
    yield {
      rows: days.length,
      columns: [
        { name: 'identifier', kind: 'text', values: repeat(identifier) },
        { name: 'date', kind: 'day', values: [...days] },
        { name: 'CLOSE', kind: 'double', values: closes },
        { name: 'CURRENCY', kind: 'text', values: repeat(currency) },
        { name: 'NAME', kind: 'text', values: repeat(name) },
      ],
    };
  }
}

/**
 * Name of the file that marks a folder as created by the service. Files with names that begin with a dot are never read
 * as data.
 */
const MARKER_FILE = '.divisor-store.json';
const TRASH_PREFIX = '.trash-';
/** Prefix of a new folder until it is complete. */
const DRAFT_PREFIX = '.draft-';

/** Folders that the service creates for stores, all in one subfolder of its data folder. */
export interface ManagedFolders {
  /** Creates a marked folder for a version of a store. Folders of older versions remain. */
  create(datasetId: string): Promise<string>;
  /**
   * Creates a marked folder with this name and fetches its files from another machine. Does nothing if the folder
   * exists. If the folder is removed during the fetch, it does not exist afterwards.
   */
  receive(name: string, datasetId: string, fetch: (draft: string) => Promise<void>): Promise<void>;
  /** Removes a folder only if it has the mark of the store. @returns true if it was removed */
  remove(folder: string, datasetId: string): Promise<boolean>;
  /**
   * Removes the folder of failed work, unless a document that names the folder may be on disk. After a failed commit,
   * this is unknown until the next start, which removes unreferenced folders. Never rejects.
   */
  discardFailed(folder: string, datasetId: string, failure: unknown): Promise<void>;
  /**
   * Removes every marked folder that no store refers to, such as the remains of a crash. Called at the start. Keeps
   * folders that this process created.
   */
  sweep(named: ReadonlySet<string>): Promise<void>;
}

export function createManagedFolders(root: string): ManagedFolders {
  /** Fetches in progress. The same folder can be fetched several times. */
  const fetches = new Set<{ readonly folder: string; isRemoved: boolean }>();
  /** Folders created before `sweep` ends, which must not remove them: work may begin earlier. */
  const ownFolders = new Set<string>();
  let isSwept = false;

  async function discard(folder: string): Promise<void> {
    const trashFolder = join(dirname(folder), `${TRASH_PREFIX}${randomBytes(8).toString('hex')}`);
    await rename(folder, trashFolder);
    await rm(trashFolder, { recursive: true, force: true });
  }

  async function remove(folder: string, datasetId: string): Promise<boolean> {
    for (const one of fetches) if (one.folder === folder) one.isRemoved = true;
    if (dirname(folder) !== root || (await readMarkedStore(folder)) !== datasetId) return false;
    await discard(folder);
    return true;
  }

  async function makeManagedFolder(
    folder: string,
    datasetId: string,
    fill: (draft: string) => Promise<void>,
  ): Promise<void> {
    const draftFolder = join(root, `${DRAFT_PREFIX}${randomBytes(4).toString('hex')}`);
    if (!isSwept) ownFolders.add(folder).add(draftFolder);
    try {
      await mkdir(draftFolder, { recursive: true, mode: 0o700 });
      await writeFile(join(draftFolder, MARKER_FILE), JSON.stringify({ format: 1, store_id: datasetId }), {
        mode: 0o600,
        flush: true,
      });
      await fill(draftFolder);
      await rename(draftFolder, folder); // the mark is written before the folder gets its name
    } catch (failure) {
      await rm(draftFolder, { recursive: true, force: true }).catch(() => {}); // the next start removes the remains
      throw failure;
    }
    await flushFolder(root);
  }

  return {
    async create(datasetId) {
      const folder = join(root, `${datasetId}.${randomBytes(4).toString('hex')}`);
      await makeManagedFolder(folder, datasetId, async () => {});
      return folder;
    },
    async receive(name, datasetId, fetch) {
      const folder = join(root, name);
      const isInParent = async () => (await readMarkedStore(folder)) === datasetId;
      if (await isInParent()) return;
      const current = { folder, isRemoved: false };
      fetches.add(current);
      try {
        await makeManagedFolder(folder, datasetId, fetch);
      } catch (failure) {
        if (!(await isInParent())) throw failure; // another request has fetched the folder
      } finally {
        fetches.delete(current);
      }
      if (current.isRemoved) await remove(folder, datasetId);
    },
    remove,
    async discardFailed(folder, datasetId, failure) {
      if (isStoreUnavailable(failure)) return;
      await remove(folder, datasetId).catch(() => false);
    },
    async sweep(named) {
      for (const name of await readdir(root).catch(() => [])) {
        const folder = join(root, name);
        if (ownFolders.has(folder)) continue;
        if (name.startsWith(TRASH_PREFIX) || name.startsWith(DRAFT_PREFIX))
          await rm(folder, { recursive: true, force: true });
        else if (!named.has(folder) && (await readMarkedStore(folder)) !== undefined) await discard(folder);
      }
      isSwept = true;
      ownFolders.clear();
    },
  };
}

/**
 * Returns the id of the store in the marker file of a folder. Returns undefined if the folder has no valid marker file.
 */
async function readMarkedStore(folder: string): Promise<string | undefined> {
  const text = await readFile(join(folder, MARKER_FILE), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const marker = JSON.parse(text) as { readonly store_id?: unknown } | null;
    return typeof marker?.store_id === 'string' ? marker.store_id : undefined;
  } catch {
    return undefined; // a mark truncated by a crash identifies no store; the folder is left for the operator
  }
}
