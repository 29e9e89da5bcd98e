import type { DuckDBConnection } from '@duckdb/node-api';
import { formatDay, type Day } from '#domain/days.js';
import { compareText } from '#domain/findings.js';
import { AssetIdentifier } from '#domain/shape.js';
import { dayIn, type Cell } from './cells.js';
import { columnName, COUNT_COLUMNS, PRICE_COLUMNS } from './datasets.js';
import { cellOf, chunksOf, doublesOf, integersOf, sqlName, sqlText } from './duckdb.js';
import { dayPositions, IDENTIFIERS_MAX, namedColumns, refuseSize, repeatedKey } from './market-rows.js';
import { emptyPanel, noPanels, withoutEmptyLines, type Panels } from './panels.js';
import { cellPath, FINDINGS_MAX, type Problems } from './problems.js';

/** A Parquet file of a dataset as its folder lists it. */
export interface ParquetFile {
  /** Where it lies, symbolic links resolved. */
  readonly path: string;
  /** What findings call it. */
  readonly label: string;
}

/** Columns of a Parquet source with their DuckDB types. */
export interface TypedColumn {
  readonly name: string;
  readonly type: string;
}

const NUMERIC = /^(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|UTINYINT|USMALLINT|UINTEGER|UBIGINT|UHUGEINT|FLOAT|DOUBLE|DECIMAL\(.*\))$/;
const TIMESTAMP = /^TIMESTAMP/;

/** The scan of all files of a dataset as one table: columns by name, hive partition keys as text. */
export function scanOf(files: readonly ParquetFile[], options: { readonly withRows: boolean }): string {
  const paths = files.map(({ path }) => sqlText(path)).join(', ');
  const rows = options.withRows ? ', file_row_number = true, filename = true' : '';
  return `read_parquet([${paths}], union_by_name = true, hive_partitioning = ${hasHiveKeys(files)}, hive_types_autocast = 0${rows})`;
}

const hasHiveKeys = (files: readonly ParquetFile[]) => files.some(({ label }) => label.split('/').slice(1, -1).some((part) => part.includes('=')));

/** Partition keys that are only folders' names: data when they are a key of the dataset, else left out. */
function isPartitionOnly(files: readonly ParquetFile[], column: string): boolean {
  return files.some(({ label }) => label.split('/').slice(1, -1).some((part) => part.startsWith(`${column}=`)));
}

export async function columnsOf(connection: DuckDBConnection, source: string): Promise<TypedColumn[]> {
  const reader = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${source}`);
  return reader.getRows().map(([name, type]) => ({ name: String(name), type: String(type) }));
}

/** How far a source has to be read cell by cell: a typed one is read column by column. */
export type MarketColumns =
  | { readonly kind: 'typed'; readonly identifier: string; readonly date: TypedColumn; readonly fields: readonly { readonly name: string; readonly column: string }[] }
  | { readonly kind: 'cells'; readonly columns: readonly string[] }
  | { readonly kind: 'refused' };

/** Looks at the columns of a market source before any row of it is read. */
export function marketColumns(files: readonly ParquetFile[], columns: readonly TypedColumn[], problems: Problems): MarketColumns {
  const held = columns.filter(({ name }) => {
    const known = columnName('market', name);
    return known === 'identifier' || known === 'date' || !isPartitionOnly(files, name);
  });
  const names = namedColumns('market', 'market', held.map(({ name }) => name), problems);
  if (names === undefined) return { kind: 'refused' };
  const identifier = held[names.indexOf('identifier')]!;
  const date = held[names.indexOf('date')]!;
  const isTyped = names.every((name, i) => name === 'identifier' || name === 'date' || NUMERIC.test(held[i]!.type));
  const hasKeys = identifier.type === 'VARCHAR' && (date.type === 'DATE' || date.type === 'VARCHAR' || TIMESTAMP.test(date.type));
  if (!isTyped || !hasKeys) return { kind: 'cells', columns: held.map(({ name }) => name) };
  const fields = names.flatMap((name, i) => (name === 'identifier' || name === 'date' ? [] : [{ name, column: held[i]!.name }]));
  return { kind: 'typed', identifier: identifier.name, date, fields };
}

export interface MarketRead {
  readonly panels: Panels;
  readonly rows: number;
}

/**
 * Reads a typed market source into panels: two narrow scans give the axes, one wide scan is scattered into the cells.
 * Whatever is wrong is looked for again with row numbers, so that a good file pays nothing for the wording.
 * @returns undefined, and told, when something is wrong.
 * @cost 0.15 µs a row and field on one core.
 */
export async function readTypedMarket(
  connection: DuckDBConnection,
  source: { readonly files: readonly ParquetFile[]; readonly scan: string; readonly numberedScan: string; readonly columns: Extract<MarketColumns, { kind: 'typed' }>; readonly after: Day | null },
  problems: Problems,
  onProgress: (fraction: number) => void,
): Promise<MarketRead | undefined> {
  const { columns, after } = source;
  const scan = after === null ? source.scan : `(SELECT * FROM ${source.scan} WHERE ${laterThan(columns.date, after)})`;
  const identifier = sqlName(columns.identifier);
  const day = dayExpression(columns.date);
  const total = Number((await connection.runAndReadAll(`SELECT count(*) FROM ${scan}`)).getRows()[0]![0]);
  if (total === 0 && after !== null) return { panels: noPanels(columns.fields.map(({ name }) => name)), rows: 0 };
  if (total === 0) {
    problems.error({ code: 'EMPTY_DATASET', path: 'market', message: 'The market holds no row; at least one is needed.' });
    return undefined;
  }
  const spellings = await distinctTexts(connection, `SELECT DISTINCT ${identifier} FROM ${scan}`);
  const dates = await distinctDays(connection, scan, columns.date);
  if (spellings === undefined || dates === undefined) {
    await tellBadKeys(connection, source, problems);
    return undefined;
  }
  const names = [...new Set(spellings.map((text) => text.trim()))].sort(compareText);
  if (names.length > IDENTIFIERS_MAX) {
    problems.error({ code: 'OUT_OF_RANGE', path: 'market', message: `The market holds ${names.length} identifiers; at most ${IDENTIFIERS_MAX} are held.` });
    return undefined;
  }
  const shape = { dates: dates.length, identifiers: names.length, fields: columns.fields.length };
  if (refuseSize(shape, problems)) return undefined;

  await connection.run('CREATE TEMP TABLE axis (name VARCHAR, n INTEGER)');
  await connection.run(`INSERT INTO axis VALUES ${axisRows(spellings, names)}`);
  const values = columns.fields.map(({ column }) => `coalesce(${sqlName(column)}::DOUBLE, 'NaN'::DOUBLE)`);
  const sql = `SELECT ${day} AS d, axis.n, ${values.join(', ')} FROM ${scan} AS source JOIN axis ON axis.name = source.${identifier}`;
  const panels = columns.fields.map(() => emptyPanel(shape.dates * shape.identifiers));
  const scattered = await scatter(chunksOf(connection, sql), { dates, assets: names.length, panels, fields: columns.fields.map(({ name }) => name) }, (rows) => onProgress(rows / total));
  if (!scattered.isSound) {
    await tellBadValues(connection, source, problems);
    if (problems.errors === 0) problems.error({ code: 'UNREADABLE_FILE', path: 'market', message: 'The files changed while they were read.' });
    return undefined;
  }
  const fields = new Map(columns.fields.map(({ name }, f) => [name, panels[f]!]));
  return { panels: withoutEmptyLines({ identifiers: names, dates, fields }), rows: scattered.rows };
}

/** Condition on the date column, in the terms of its own type so that whole row groups are passed over. */
function laterThan({ name, type }: TypedColumn, after: Day): string {
  const day = sqlText(formatDay(after));
  if (type === 'VARCHAR') return `substr(trim(${sqlName(name)}), 1, 10) > ${day}`;
  return type === 'DATE' ? `${sqlName(name)} > DATE ${day}` : `${sqlName(name)} >= TIMESTAMP ${sqlText(formatDay(after + 1))}`;
}

/** Every spelling of an identifier with the column of its panel: spaces around it are not part of it. */
function axisRows(spellings: readonly string[], names: readonly string[]): string {
  const columnOf = new Map(names.map((name, n) => [name, n]));
  return spellings.map((text) => `(${sqlText(text)}, ${columnOf.get(text.trim())})`).join(', ');
}

interface Target {
  readonly dates: Int32Array;
  readonly assets: number;
  readonly panels: readonly Float64Array[];
  readonly fields: readonly string[];
}

/** Puts the rows of a query into the panels; unsound when two rows share a cell or a value is none the field can have. */
async function scatter(chunks: AsyncIterable<Parameters<typeof integersOf>[0]>, target: Target, onRows: (rows: number) => void): Promise<{ readonly rows: number; readonly isSound: boolean }> {
  const { dates, assets, panels, fields } = target;
  const rowOf = dayPositions(dates);
  const firstDay = dates[0]!;
  const filled = new Uint8Array(dates.length * assets);
  const floors = fields.map((name) => (PRICE_COLUMNS.has(name) ? Number.MIN_VALUE : COUNT_COLUMNS.has(name) ? 0 : -Number.MAX_VALUE));
  const cells = new Int32Array(1 << 16);
  let rows = 0;
  let isSound = true;
  for await (const chunk of chunks) {
    const size = chunk.rowCount;
    const days = integersOf(chunk, 0);
    const names = integersOf(chunk, 1);
    for (let i = 0; i < size; i++) {
      const cell = rowOf[days[i]! - firstDay]! * assets + names[i]!;
      if (filled[cell] === 1) isSound = false;
      filled[cell] = 1;
      cells[i] = cell;
    }
    for (let f = 0; f < panels.length; f++) if (!scatterColumn(doublesOf(chunk, 2 + f), cells, size, panels[f]!, floors[f]!)) isSound = false;
    rows += size;
    if (rows % (1 << 18) < size) onRows(rows);
  }
  return { rows, isSound };
}

/** The hot loop: one column of one chunk into its panel. False when a value lies below the floor or is infinite. */
function scatterColumn(values: Float64Array, cells: Int32Array, size: number, panel: Float64Array, floor: number): boolean {
  let isSound = true;
  for (let i = 0; i < size; i++) {
    const value = values[i]!;
    if (value !== value) continue;
    if (!(value >= floor && value <= Number.MAX_VALUE)) isSound = false;
    panel[cells[i]!] = value + 0; // + 0 turns a negative zero into 0
  }
  return isSound;
}

/** Days since 1970 of the date column. */
function dayExpression({ name, type }: TypedColumn): string {
  const column = sqlName(name);
  if (type === 'VARCHAR') return `(CAST(substr(trim(${column}), 1, 10) AS DATE) - DATE '1970-01-01')::INTEGER`;
  const date = type === 'DATE' ? column : `CAST(${type === 'TIMESTAMP WITH TIME ZONE' ? `timezone('UTC', ${column})` : column} AS DATE)`;
  return `(${date} - DATE '1970-01-01')::INTEGER`;
}

/** Texts of a query of one column; undefined when one is null or no identifier. */
async function distinctTexts(connection: DuckDBConnection, sql: string): Promise<string[] | undefined> {
  const texts: string[] = [];
  for await (const chunk of chunksOf(connection, sql)) {
    for (const value of chunk.getColumnValues(0)) {
      if (typeof value !== 'string' || !AssetIdentifier.safeParse(value.trim()).success) return undefined;
      texts.push(value);
    }
  }
  return texts;
}

/** Sorted days of the date column; undefined when one is null or no day that can be written. */
async function distinctDays(connection: DuckDBConnection, scan: string, date: TypedColumn): Promise<Int32Array | undefined> {
  const days = new Set<number>();
  for await (const chunk of chunksOf(connection, `SELECT DISTINCT ${sqlName(date.name)} FROM ${scan}`)) {
    for (const value of chunk.getColumnValues(0)) {
      const day = dayIn(cellOf(value));
      if (day === null || day === undefined) return undefined;
      days.add(day);
    }
  }
  return Int32Array.from(days).sort();
}

interface NumberedSource {
  readonly files: readonly ParquetFile[];
  readonly numberedScan: string;
  readonly columns: Extract<MarketColumns, { kind: 'typed' }>;
}

async function tellBadKeys(connection: DuckDBConnection, source: NumberedSource, problems: Problems): Promise<void> {
  const { columns, numberedScan } = source;
  const sql = `SELECT filename, file_row_number, ${sqlName(columns.identifier)}, ${sqlName(columns.date.name)} FROM ${numberedScan}`;
  for await (const chunk of chunksOf(connection, sql)) {
    for (const [file, row, identifier, date] of chunk.getRows()) {
      const text = typeof identifier === 'string' ? identifier.trim() : null;
      const label = labelOf(source.files, String(file));
      if (text === null || !AssetIdentifier.safeParse(text).success) {
        const message = text === null ? 'The identifier is empty.' : `${JSON.stringify(text.slice(0, 80))} is no identifier: 1 to 64 characters without control characters or / are needed.`;
        problems.error({ code: 'BAD_IDENTIFIER', path: cellPath(label, Number(row) + 1, columns.identifier), message, value: text });
      }
      const cell: Cell = cellOf(date!);
      const day = dayIn(cell);
      if (day === null || day === undefined) {
        const message = day === null ? `${columns.date.name} is empty.` : `${columns.date.name} is ${JSON.stringify(String(date).slice(0, 80))}; a day that exists, YYYY-MM-DD, is needed.`;
        problems.error({ code: 'BAD_DATE', path: cellPath(label, Number(row) + 1, columns.date.name), message });
      }
      if (problems.errors > FINDINGS_MAX) return;
    }
  }
}

async function tellBadValues(connection: DuckDBConnection, source: NumberedSource, problems: Problems): Promise<void> {
  const { columns, numberedScan, files } = source;
  const limit = FINDINGS_MAX + 1;
  for (const { name, column } of columns.fields) {
    const value = `${sqlName(column)}::DOUBLE`;
    const sign = PRICE_COLUMNS.has(name) ? `OR ${value} <= 0` : COUNT_COLUMNS.has(name) ? `OR ${value} < 0` : '';
    const rows = await connection.runAndReadAll(`SELECT filename, file_row_number, ${value} FROM ${numberedScan} WHERE isinf(${value}) ${sign} ORDER BY 1, 2 LIMIT ${limit}`);
    for (const [file, row, bad] of rows.getRows()) {
      const path = cellPath(labelOf(files, String(file)), Number(row) + 1, column);
      if (!Number.isFinite(bad)) problems.error({ code: 'NOT_A_NUMBER', path, message: `${column} is ${String(bad)}, which is not a finite number.` });
      else if (PRICE_COLUMNS.has(name)) problems.error({ code: 'NON_POSITIVE_PRICE', path, message: `${column} is ${String(bad)}; a price must be greater than 0.`, value: bad });
      else problems.error({ code: 'OUT_OF_RANGE', path, message: `${column} is ${String(bad)}; at least 0 is needed.`, value: bad });
    }
  }
  const keys = `trim(${sqlName(columns.identifier)}), ${dayExpression(columns.date)}`;
  const repeated = await connection.runAndReadAll(
    `SELECT * FROM (SELECT filename, file_row_number, ${keys}, row_number() OVER (PARTITION BY ${keys} ORDER BY filename, file_row_number) AS occurrence FROM ${numberedScan}) WHERE occurrence > 1 ORDER BY 1, 2 LIMIT ${limit}`,
  );
  for (const [file, row, identifier, day] of repeated.getRows()) {
    problems.error(repeatedKey(cellPath(labelOf(files, String(file)), Number(row) + 1, ''), String(identifier), Number(day)));
  }
}

function labelOf(files: readonly ParquetFile[], path: string): string {
  return files.find((file) => file.path === path)?.label ?? 'market';
}
