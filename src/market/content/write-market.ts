import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { CorporateAction, ReferenceValue } from '#domain/market/market-data.js';
import type { SeriesTable } from '#domain/market/series.js';
import type { MarketContent } from './market-content.js';
import type { FileDigest } from '../formats/digest-file.js';
import { writeParquet, type RowGroup } from '../formats/write-parquet.js';
import type { ParquetColumn } from '#base/parquet/columns.js';

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
): Promise<FileDigest[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const files: FileDigest[] = [];
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
export async function flushFolder(folder: string): Promise<void> {
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

/** Yields one row group per series. */
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
