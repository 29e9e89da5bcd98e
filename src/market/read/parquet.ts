import type { DuckDBConnection } from '@duckdb/node-api';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isAssetIdentifier } from '#domain/base/schema.js';
import { formatDay } from '#domain/base/time.js';
import type { Mapping } from '#domain/definition/mapping.js';
import { ENTRY } from '#domain/personal/account-table.js';
import { assertTimeZone, isUtc, parseOffsetMinutes, readDay } from '../formats/cells.js';
import {
  type DuckDb,
  formatBoundColumn,
  formatBoundText,
  openDuckDb,
  quoteName,
  quoteText,
  streamChunks,
  toCell,
} from '../formats/duckdb.js';
import { ADJUSTED_CLOSE, hasPlainRows, renameColumns } from '../mapping/columns.js';
import {
  describeBadDay,
  describeBadIdentifier,
  describeRepeatedKey,
  formatCellPath,
  formatNonPositivePrice,
  type DataProblem,
  type Problems,
  replaceSlashes,
  SIMILAR_PROBLEMS_MAX,
} from '../tables/problems.js';
import { COUNT_COLUMNS, getColumnName, nameFileColumns, PRICE_COLUMNS } from '../tables/table-kinds.js';
import { describeIgnoredKey, type FolderKey, isBarKey, listKeys, normaliseName } from './file-rows.js';

/** Shape of the JSON lines that represent the rows of a Parquet file. */
export interface ParquetLines {
  readonly header: readonly string[];
  /**
   * True if a row is an account with a list of its lots. Such a row is an object; any other row is an array of texts.
   */
  readonly isNested: boolean;
}

/** Matches list types; the entries of a list are joined to one text. */
const LIST_SUFFIX = /\[\d*\]$/;
const LOTS_COLUMN = 'lots';
const TIMESTAMP_TYPE = /^TIMESTAMP/;
/** Matches dates with a time of midnight inside lists. */
const PARQUET_LINES_MIDNIGHT_TEXT = /"(\d{4}-\d\d-\d\d) 00:00:00(?:\+00)?"/g;

/** Writes the rows of a Parquet file as lines of JSON, in their order. Timestamps become days. @cost 2 µs a value */
export async function writeParquetLines(from: string, to: string): Promise<ParquetLines> {
  const { connection, close } = await openDuckDb({ files: [from] });
  try {
    const scan = `read_parquet(${quoteText(from)}, hive_partitioning = false)`;
    const description = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${scan}`);
    const columns = description.getRows().map(([name, type]) => ({ name: String(name), type: String(type) }));
    const isNested = columns.some(({ name }) => name === LOTS_COLUMN);
    const texts = columns.map(({ name, type }) => {
      if (LIST_SUFFIX.test(type)) return `array_to_string(${quoteName(name)}, ${quoteText(ENTRY)})`;
      return TIMESTAMP_TYPE.test(type) ? `${quoteName(name)}::DATE::VARCHAR` : `${quoteName(name)}::VARCHAR`;
    });
    const boundedScan = `(SELECT ${columns.map(formatBoundColumn).join(', ')} FROM ${scan})`;
    const sql = isNested
      ? `SELECT to_json(t)::VARCHAR FROM ${boundedScan} t`
      : `SELECT to_json([${texts.join(', ')}])::VARCHAR FROM ${boundedScan}`;
    async function* readLines(): AsyncGenerator<string> {
      for await (const chunk of streamChunks(connection, sql)) {
        const rows = chunk.getColumnValues(0).map((row) => String(row).replaceAll(PARQUET_LINES_MIDNIGHT_TEXT, '"$1"'));
        yield `${rows.join('\n')}\n`;
      }
    }
    await pipeline(Readable.from(readLines()), createWriteStream(to, { mode: 0o600 }));
    return { header: columns.map(({ name }) => name), isNested };
  } finally {
    close();
  }
}

/** Parquet file of a dataset, as listed in its folder. */
interface ParquetFile {
  /** Path with symbolic links resolved. */
  readonly path: string;
  /** Name of the file in findings. */
  readonly label: string;
  /** Time zones in which timestamp columns were written; UTC if absent. */
  readonly zones?: ReadonlyMap<string, string>;
  /** Folder keys that become columns of the scan. */
  readonly keys?: readonly string[];
}

export interface TypedColumn {
  readonly name: string;
  readonly type: string;
}

const NUMERIC_TYPE =
  /^(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|UTINYINT|USMALLINT|UINTEGER|UBIGINT|UHUGEINT|FLOAT|DOUBLE|DECIMAL\(.*\))$/;

/**
 * Returns the SQL that reads all files of a dataset as one table. Columns are matched by name, and folder keys are read
 * as text. The hive partitioning of DuckDB is disabled, because its keys would replace columns of the files.
 */
export function formatScan(files: readonly ParquetFile[], options: { readonly withRows: boolean }): string {
  const pathsText = files.map(({ path }) => quoteText(path)).join(', ');
  const rows = options.withRows ? ', file_row_number = true, filename = true' : '';
  const scan = `read_parquet([${pathsText}], union_by_name = true, hive_partitioning = false${rows})`;
  const localTimes = [...new Set(files.flatMap(({ zones }) => [...(zones?.keys() ?? [])]))].map(
    (column) => `${formatLocalTime(files, column)} AS ${quoteName(column)}`,
  );
  const keys = [...new Set(files.flatMap((file) => file.keys ?? []))].map(
    (key) => `, ${formatKeySql(key)} AS ${quoteName(key)}`,
  );
  if (localTimes.length + keys.length === 0) return scan;
  const replacement = localTimes.length === 0 ? '' : ` REPLACE (${localTimes.join(', ')})`;
  return `(SELECT *${replacement}${keys.join('')} FROM ${scan})`;
}

function formatKeySql(key: string): string {
  const folder = `.*/${key.replace(/[^\p{L}\p{N}_]/gu, '\\$&')}=([^/]*)/`;
  const text = `url_decode(regexp_extract(filename, ${quoteText(folder)}, 1))`;
  return `nullif(nullif(${text}, '__HIVE_DEFAULT_PARTITION__'), '')`;
}

function formatLocalTime(files: readonly ParquetFile[], column: string): string {
  const formatZone = ({ zones }: ParquetFile): string => zones?.get(column) ?? 'UTC';
  const columnSql = quoteName(column);
  const cases = [...new Set(files.map(formatZone))].map((zone) => {
    const zoneFiles = files.filter((file) => formatZone(file) === zone);
    const minutes = parseOffsetMinutes(zone);
    const timeSql =
      minutes === undefined
        ? `timezone(${quoteText(zone)}, ${columnSql})`
        : `timezone('UTC', ${columnSql}) + INTERVAL (${minutes}) MINUTE`;
    return { time: timeSql, paths: zoneFiles.map(({ path }) => quoteText(path)).join(', ') };
  });
  if (cases.length === 1) return cases[0]!.time;
  return `CASE ${cases.map(({ time, paths }) => `WHEN filename IN (${paths}) THEN ${time}`).join(' ')} END`;
}

/**
 * Maximum number of columns of a source. The time in DuckDB grows with the square of this number. It is 5 s of
 * processor time at the maximum.
 */
const COLUMNS_MAX = 8192;

/**
 * Returns the columns of a source.
 * @param source SQL that can follow FROM
 * @throws errors of DuckDB for an unreadable file, an Error for too many columns
 */
export async function readColumns(connection: DuckDBConnection, source: string): Promise<TypedColumn[]> {
  const reader = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${source}`);
  const rows = reader.getRows();
  if (rows.length > COLUMNS_MAX) throw new Error(`There are ${rows.length} columns; at most ${COLUMNS_MAX} are read.`);
  return rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
}

/** Field of the market with its numeric column. */
interface NumberColumn {
  readonly name: string;
  readonly column: string;
}

/**
 * Method of reading a source. It is read column by column if its types allow it, otherwise cell by cell. It is refused
 * if neither is possible.
 */
export type MarketColumns =
  | {
      readonly kind: 'typed';
      readonly identifier: string;
      readonly date: TypedColumn;
      readonly fields: readonly NumberColumn[];
    }
  | { readonly kind: 'cells'; readonly columns: readonly string[] }
  | { readonly kind: 'refused'; readonly rest: CheckedColumns };

/** Columns whose rows can be checked for problems. For a refused source, these are its valid columns. */
interface CheckedColumns {
  readonly identifier: string | undefined;
  readonly date: TypedColumn | undefined;
  readonly fields: readonly NumberColumn[];
}

/** Determines how to read a market source from its columns, before any row is read. */
export function planMarketColumns(
  dataColumns: readonly TypedColumn[],
  problems: Problems,
  mapping: Mapping | null = null,
): MarketColumns {
  if (mapping !== null) return mapMarketColumns(mapping, dataColumns);
  const errorsBefore = problems.errors;
  const names = nameFileColumns(
    'market',
    'market',
    dataColumns.map(({ name }) => name),
    problems,
  );
  const areRefused = problems.errors > errorsBefore;
  if (names === undefined) return { kind: 'refused', rest: { identifier: undefined, date: undefined, fields: [] } };
  if (refuseTypes(names, dataColumns, problems) || areRefused)
    return { kind: 'refused', rest: checkColumns(names, dataColumns) };
  return convertColumns(names, dataColumns) ?? { kind: 'cells', columns: dataColumns.map(({ name }) => name) };
}

/**
 * Returns the columns if all of them can be read by type. Returns undefined if any column must be read cell by cell.
 */
function convertColumns(
  names: readonly string[],
  dataColumns: readonly TypedColumn[],
): Extract<MarketColumns, { kind: 'typed' }> | undefined {
  const identifier = dataColumns[names.indexOf('identifier')];
  const date = dataColumns[names.indexOf('date')];
  const isKey = (name: string) => name === 'identifier' || name === 'date';
  const isTyped = names.every((name, i) => isKey(name) || name === '' || NUMERIC_TYPE.test(dataColumns[i]!.type));
  if (!isTyped || identifier?.type !== 'VARCHAR' || date === undefined || !isDayType(date.type)) return undefined;
  const fields = names.flatMap((name, i) =>
    isKey(name) || name === '' ? [] : [{ name, column: dataColumns[i]!.name }],
  );
  return { kind: 'typed', identifier: identifier.name, date, fields };
}

function mapMarketColumns(mapping: Mapping, columns: readonly TypedColumn[]): MarketColumns {
  const columnNames = columns.map(({ name }) => name);
  const names = hasPlainRows(mapping) ? renameColumns(mapping, columnNames) : [];
  const isSound =
    names.includes('CLOSE') &&
    new Set(names.filter((name) => name !== '')).size === names.filter((name) => name !== '').length;
  const isAdjusted = mapping.adjusted_close === null || names.includes(ADJUSTED_CLOSE);
  return (
    (isSound && isAdjusted ? convertColumns(names, columns) : undefined) ?? { kind: 'cells', columns: columnNames }
  );
}

function checkColumns(names: readonly string[], dataColumns: readonly TypedColumn[]): CheckedColumns {
  const findColumn = (name: string) => dataColumns[names.indexOf(name)];
  const date = findColumn('date');
  return {
    identifier: findColumn('identifier')?.name,
    date: date !== undefined && isDayType(date.type) ? date : undefined,
    fields: names.flatMap((name, i) =>
      name === '' || name === 'identifier' || name === 'date' || !NUMERIC_TYPE.test(dataColumns[i]!.type)
        ? []
        : [{ name, column: dataColumns[i]!.name }],
    ),
  };
}

const isDayType = (type: string) => type === 'DATE' || type === 'VARCHAR' || TIMESTAMP_TYPE.test(type);

/**
 * Matches types without numeric values. Of these types, only those that match DATE_TYPE contain days. One finding
 * reports a wrong type for all rows.
 */
const NON_NUMERIC = /^(BOOLEAN|BLOB|BIT|DATE|TIME|INTERVAL|UUID|STRUCT|MAP|UNION)|\]$/;
const DATE_TYPE = /^(DATE|TIMESTAMP)/;

/** Returns true and reports a finding if the type of a column cannot represent its values. */
function refuseTypes(names: readonly string[], dataColumns: readonly TypedColumn[], problems: Problems): boolean {
  const errorsBefore = problems.errors;
  dataColumns.forEach(({ name, type }, i) => {
    const columnName = names[i]!;
    if (columnName === 'identifier' || columnName === '') return;
    if (columnName === 'date') {
      if (!NUMERIC_TYPE.test(type) && (!NON_NUMERIC.test(type) || DATE_TYPE.test(type))) return;
      problems.error({
        code: 'BAD_DATE',
        path: `market.${name}`,
        message: `The column ${name} is of type ${type.slice(0, 80)}; DATE, TIMESTAMP or text written YYYY-MM-DD is needed.${NUMERIC_TYPE.test(type) ? ' Numbers such as 20240102 are read by a mapping with date_format: YYYYMMDD.' : ''}`,
      });
    } else if (NON_NUMERIC.test(type))
      problems.error({
        code: 'NOT_A_NUMBER',
        path: `market.${name}`,
        message: `The column ${name} is of type ${type.slice(0, 80)}; numbers are needed.`,
      });
  });
  return problems.errors > errorsBefore;
}

/** Type of instants in DuckDB. */
const ZONED_TYPE = 'TIMESTAMP WITH TIME ZONE';

/** Patterns of the texts of instants in UTC: all of them, and midnight. */
const INSTANT_TEXT = String.raw`[T ]\d\d:\d\d.*(Z|[+-]00(:?00)?)\s*$`;
const MIDNIGHT_TEXT = String.raw`[T ]00:00(:00(\.0+)?)?(Z|[+-])`;

/**
 * Returns a plan that reads a source cell by cell if its dates are instants whose days depend on a time zone. Otherwise
 * returns the plan unchanged.
 * @param columns names of all columns of the source
 * @cost a scan of the dates if they are instants or texts
 */
export async function planInstants(
  connection: DuckDBConnection,
  scan: string,
  plan: MarketColumns,
  columns: readonly string[],
): Promise<MarketColumns> {
  if (plan.kind !== 'typed' || (plan.date.type !== ZONED_TYPE && plan.date.type !== 'VARCHAR')) return plan;
  const date = quoteName(plan.date.name);
  const condition =
    plan.date.type === ZONED_TYPE
      ? `isfinite(${date}) AND epoch_us(${date}) % 86400000000 <> 0`
      : `strlen(${date}) > 16 AND regexp_matches(${date}, ${quoteText(INSTANT_TEXT)}) AND NOT regexp_matches(${date}, ${quoteText(MIDNIGHT_TEXT)})`;
  const found = await connection.runAndReadAll(`SELECT 1 FROM ${scan} WHERE ${condition} LIMIT 1`);
  return found.currentRowCount === 0 ? plan : { kind: 'cells', columns };
}

/** Returns the SQL for the days since 1970 of a date column with only valid dates. */
export function formatDayExpression({ name, type }: TypedColumn): string {
  const column = quoteName(name);
  if (type === 'VARCHAR') return `(CAST(${formatDaysText(column)} AS DATE) - DATE '1970-01-01')::INTEGER`;
  const date =
    type === 'DATE' ? column : `CAST(${type === ZONED_TYPE ? `timezone('UTC', ${column})` : column} AS DATE)`;
  return `(${date} - DATE '1970-01-01')::INTEGER`;
}

/** Returns the SQL for the days since 1970 of a date column; NULL for a value that is not a date. */
function formatOptionalDayExpression(date: TypedColumn): string {
  const column = quoteName(date.name);
  if (date.type === 'VARCHAR') return `(TRY_CAST(${formatDaysText(column)} AS DATE) - DATE '1970-01-01')::INTEGER`;
  return `CASE WHEN isfinite(${column}) THEN ${formatDayExpression(date)} END`;
}

const formatDaysText = (column: string) => `substr(trim(${column}), 1, 10)`;

/**
 * Maximum number of digits of a decimal that the reader converts exactly. It converts some decimals with more digits to
 * wrong doubles.
 */
const DECIMAL_DIGITS_MAX = 38;

/** Maximum number of reported columns over all files. */
const LISTED_COLUMNS_MAX = 20;

/**
 * Reports columns that the reader would change without a message. These are decimals with more digits than the reader
 * supports, and pairs of columns that differ only in case, of which it renames the second.
 * @param columns as the reader reports them
 * @param table name at the start of paths
 * @cost one read of the footers of the files
 */
export async function reportColumns(
  connection: DuckDBConnection,
  files: readonly ParquetFile[],
  { columns, table }: { readonly columns: readonly TypedColumn[]; readonly table: string },
  problems: Problems,
): Promise<void> {
  const schema = `parquet_schema([${files.map(({ path }) => quoteText(path)).join(', ')}])`;
  const findLabel = (path: unknown): string => files.find((file) => file.path === String(path))?.label ?? table;
  const wideColumns = await connection.runAndReadAll(
    `SELECT name, precision, scale, min(file_name) FROM ${schema} WHERE precision > ${DECIMAL_DIGITS_MAX} GROUP BY ALL ORDER BY ALL LIMIT ${LISTED_COLUMNS_MAX}`,
  );
  for (const [name, digits, scale, path] of wideColumns.getRows())
    problems.error({
      code: 'NOT_A_NUMBER',
      path: `${table}.${String(name)}`,
      column: String(name),
      message: `The column ${String(name)} of ${findLabel(path)} is of type DECIMAL(${String(digits)},${String(scale)}); decimals of at most ${DECIMAL_DIGITS_MAX} digits are read.`,
    });
  const names = new Set(columns.map(({ name }) => name.toLowerCase()));
  const renamedColumns = columns.flatMap(({ name }) => {
    const stem = /^(.+)_\d+$/.exec(name.toLowerCase())?.[1];
    return stem !== undefined && names.has(stem) ? [stem] : [];
  });
  if (renamedColumns.length === 0) return;
  const repeatedColumns = await connection.runAndReadAll(
    `SELECT first(name), last(name), min(file_name) FROM (SELECT name, file_name FROM ${schema} WHERE lower(name) IN (${renamedColumns.map(quoteText).join(', ')})) GROUP BY file_name, lower(name) HAVING count(*) > 1 ORDER BY 3, 1 LIMIT ${LISTED_COLUMNS_MAX}`,
  );
  for (const [name, other, path] of repeatedColumns.getRows())
    problems.error({
      code: 'DUPLICATE_KEY',
      path: `${findLabel(path)}.${String(other)}`,
      column: String(other),
      message: `${findLabel(path)} has the columns ${String(name)} and ${String(other)}, which are one name in any case; it may have one of them.`,
    });
}

/**
 * Returns files with the folder keys that become columns of the scan. A folder key becomes a column if it is wanted and
 * the files have no such column.
 * @param ownTypedColumns columns of the files
 */
function addKeys<F extends ParquetFile>(
  files: readonly F[],
  ownTypedColumns: readonly TypedColumn[],
  isWanted: (key: string) => boolean,
): { readonly files: readonly F[]; readonly columns: readonly TypedColumn[] } {
  const ownNames = new Set(ownTypedColumns.map(({ name }) => name.trim().toLowerCase()));
  const isUsedName = ({ name }: FolderKey): boolean => isWanted(name) && !ownNames.has(name.trim().toLowerCase());
  const results = files.map(({ label }) => listKeys(label).filter(isUsedName));
  const names = [...new Set(results.flatMap((keys) => keys.map(({ name }) => name)))];
  if (names.length === 0) return { files, columns: ownTypedColumns };
  return {
    files: files.map((file, i) =>
      results[i]!.length === 0 ? file : { ...file, keys: results[i]!.map(({ name }) => name) },
    ),
    columns: [...ownTypedColumns, ...names.map((name) => ({ name, type: 'VARCHAR' }))],
  };
}

/**
 * Reports folders of a market whose date key is not a valid date. Warns of files that contain the key as a column with
 * values that contradict their folder.
 * @param columns of the files and of the keys that are used
 * @cost a scan of the column if files have a column with the name of a folder key
 */
export async function reportKeys(
  connection: DuckDBConnection,
  files: readonly ParquetFile[],
  columns: readonly TypedColumn[],
  problems: Problems,
): Promise<void> {
  const folders = new Map(
    files.flatMap(({ label, keys = [] }) =>
      listKeys(label).flatMap((key) =>
        keys.includes(key.name) && getColumnName('market', key.name) === 'date' ? [[key.folder, key] as const] : [],
      ),
    ),
  );
  for (const { name, value, folder } of folders.values())
    if (typeof readDay(value) !== 'number')
      problems.error({
        code: 'BAD_DATE',
        path: folder,
        column: name,
        message: `The folder key ${name}=${value.slice(0, 80)} is no date; YYYY-MM-DD is needed.`,
        value,
      });
  for (const { name } of columns) if (isBarKey(name)) await warnOfIgnoredFiles(connection, files, name, problems);
}

/** Warns of files with values that contradict the key of their folder. */
async function warnOfIgnoredFiles(
  connection: DuckDBConnection,
  files: readonly ParquetFile[],
  column: string,
  problems: Problems,
): Promise<void> {
  const columnName = getColumnName('market', column);
  const keyByName = new Map(
    files.flatMap(({ path, label, keys = [] }) => {
      const key = listKeys(label).findLast(
        ({ name }) => getColumnName('market', name) === columnName && !keys.includes(name),
      );
      return key === undefined ? [] : [[path, { label, key }] as const];
    }),
  );
  if (keyByName.size === 0) return;
  const quotedName = quoteName(column);
  const formatBoundKey = (end: string) => formatBoundText(end, `The column ${column.slice(0, 80)}`);
  const queryResult = await connection.runAndReadAll(
    `SELECT filename, ${formatBoundKey(`min(${quotedName})`)}, ${formatBoundKey(`max(${quotedName})`)} FROM ${formatScan(files, { withRows: true })} GROUP BY 1 ORDER BY 1`,
  );
  for (const [path, ...ends] of queryResult.getRows()) {
    const message = keyByName.get(String(path));
    const folderValue = columnName === 'date' ? readDay(message?.key.value) : normaliseName(message?.key.value);
    if (message === undefined || (columnName === 'date' && typeof folderValue !== 'number')) continue; // the key may be only a year
    const values = ends.map((end) => (columnName === 'date' ? readDay(toCell(end!)) : normaliseName(String(end))));
    const otherValue = values.find((value) => value !== folderValue) ?? undefined;
    if (otherValue === undefined) continue; // an empty value is reported with its row
    const shownValue = typeof otherValue === 'number' ? formatDay(otherValue) : otherValue.slice(0, 80);
    problems.warning(describeIgnoredKey(message.label, message.key, { column, shownValue }));
  }
}

/** Typed source with access to the file and number of each row. */
export interface NumberedSource {
  readonly files: readonly ParquetFile[];
  readonly numberedScan: string;
  readonly columns: CheckedColumns;
}

/**
 * Reports every problem of the rows of a typed market source: invalid keys, invalid field values, and duplicate rows.
 * All problems of each kind are counted; only the first ones are listed, up to the maximum number of findings.
 * @cost a scan for each key and each field, and a sort of the keys
 */
export async function reportMarketProblems(duck: DuckDb, source: NumberedSource, problems: Problems): Promise<void> {
  const { identifier, date, fields } = source.columns;
  const connection = await duck.connect();
  if (identifier !== undefined) await reportBadIdentifiers(connection, source, identifier, problems);
  if (date !== undefined) await reportBadDays(connection, source, date, problems);
  for (const field of fields) await reportBadValues(connection, source, field, problems);
  if (identifier !== undefined && date !== undefined)
    await reportRepeatedKeys(connection, source, { identifier, date, fields }, problems);
}

async function reportBadIdentifiers(
  connection: DuckDBConnection,
  source: NumberedSource,
  column: string,
  problems: Problems,
): Promise<void> {
  const text = formatCell(quoteName(column));
  const isBadIdentifier = (value: unknown) =>
    typeof value !== 'string' || !isAssetIdentifier(replaceSlashes(value.trim()));
  await reportBadKeys(connection, source, { value: text, text, isBad: isBadIdentifier, problems }, (path, written) =>
    describeBadIdentifier(`${path}.${column}`, written === null ? null : written.trim() || null),
  );
}

async function reportBadDays(
  connection: DuckDBConnection,
  source: NumberedSource,
  { name, type }: TypedColumn,
  problems: Problems,
): Promise<void> {
  const isBadDay = (value: Parameters<typeof toCell>[0]) => typeof readDay(toCell(value)) !== 'number';
  const text = formatCell(quoteName(name));
  const value = type === 'VARCHAR' ? text : quoteName(name);
  await reportBadKeys(connection, source, { value, text, isBad: isBadDay, problems }, (path, written) =>
    describeBadDay(`${path}.${name}`, name, written === null || readDay(written) === null ? null : written),
  );
}

/** Maximum number of reported characters of a key. Longer keys are always invalid. */
const KEY_CHARACTERS_MAX = 1000;
const formatCell = (column: string) => `left(${column}::VARCHAR, ${KEY_CHARACTERS_MAX})`;

interface KeyCheck {
  /** SQL of the value to check, and of the text that identifies the value. */
  readonly value: string;
  readonly text: string;
  readonly isBad: (value: Parameters<typeof toCell>[0]) => boolean;
  readonly problems: Problems;
}

/** Reports the rows with an invalid key. Checks distinct values first, because there are few. */
async function reportBadKeys(
  connection: DuckDBConnection,
  { numberedScan, files }: NumberedSource,
  { value, text, isBad, problems }: KeyCheck,
  problemAt: (path: string, written: string | null) => DataProblem,
): Promise<void> {
  await connection.run('CREATE OR REPLACE TEMP TABLE bad_keys (written VARCHAR)');
  const badKeys = await connection.createAppender('bad_keys');
  let count = 0;
  for await (const chunk of streamChunks(connection, `SELECT DISTINCT ${value}, ${text} FROM ${numberedScan}`)) {
    for (const [keyValue, written] of chunk.getRows()) {
      if (!isBad(keyValue!)) continue;
      count += 1;
      if (typeof written === 'string') badKeys.appendVarchar(written);
      else badKeys.appendNull();
      badKeys.endRow();
    }
  }
  badKeys.closeSync();
  if (count === 0) return;
  const isAmong = `${text} IS NULL OR ${text} IN (SELECT written FROM bad_keys WHERE written IS NOT NULL)`;
  const condition = `(${isAmong}) AND EXISTS (SELECT 1 FROM bad_keys WHERE written IS NOT DISTINCT FROM ${text})`;
  await reportRows(
    connection,
    { selected: text, from: `${numberedScan} WHERE ${condition}`, files },
    problems,
    (path, [written]) => problemAt(path, typeof written === 'string' ? written : null),
  );
}

async function reportBadValues(
  connection: DuckDBConnection,
  { numberedScan, files }: NumberedSource,
  { name, column }: NumberColumn,
  problems: Problems,
): Promise<void> {
  const value = `${quoteName(column)}::DOUBLE`;
  const sign = PRICE_COLUMNS.has(name) ? `OR ${value} <= 0` : COUNT_COLUMNS.has(name) ? `OR ${value} < 0` : '';
  const from = `${numberedScan} WHERE (isinf(${value}) ${sign}) AND NOT isnan(${value})`;
  await reportRows(connection, { selected: value, from, files }, problems, (place, [bad]) => {
    const path = `${place}.${column}`;
    if (!Number.isFinite(bad))
      return { code: 'NOT_A_NUMBER', path, message: `${column} is ${String(bad)}, which is not a finite number.` };
    if (PRICE_COLUMNS.has(name))
      return {
        code: 'NON_POSITIVE_PRICE',
        path,
        message: formatNonPositivePrice(column, Number(bad)),
        value: bad,
      };
    return { code: 'OUT_OF_RANGE', path, message: `${column} is ${String(bad)}; at least 0 is needed.`, value: bad };
  });
}

async function reportRepeatedKeys(
  connection: DuckDBConnection,
  { numberedScan, files }: NumberedSource,
  { identifier, date, fields }: RowColumns,
  problems: Problems,
): Promise<void> {
  const name = `regexp_replace(trim(${formatCell(quoteName(identifier))}), '/|%2f', '.', 'gi')`;
  const numberedRows = `SELECT filename, file_row_number, ${name} AS name, ${formatOptionalDayExpression(date)} AS day FROM ${numberedScan}`;
  const from = `(SELECT *, row_number() OVER (PARTITION BY name, day ORDER BY filename, file_row_number) AS occurrence FROM (${numberedRows}) WHERE name <> '' AND day IS NOT NULL) WHERE occurrence > 1`;
  const selectedColumns = 'name, day, filename, file_row_number';
  const listedRows = await formatRows(connection, { selected: selectedColumns, from, files });
  if (listedRows.length === 0) return;
  // Queries the values of the few listed keys separately. A query for both would include the values in the sort.
  const keys = listedRows.map(({ values: [key, day] }) => `(${quoteText(String(key))}, ${String(day)})`);
  const valuesSql = fields.map(({ column }, i) => `, ${quoteName(column)}::DOUBLE AS value_${i}`).join('');
  const repeatedKeys = await connection.runAndReadAll(
    `SELECT * FROM (SELECT ${name} AS name, ${formatOptionalDayExpression(date)} AS day, filename, file_row_number${valuesSql} FROM ${numberedScan}) AS numbered WHERE (name, day) IN (${keys.join(', ')}) ORDER BY 3, 4`,
  );
  const results = repeatedKeys.getRows().map(([key, day, ...rest]) => ({ key: `${String(day)} ${String(key)}`, rest }));
  const formatText = (rest: readonly unknown[]): string => rest.slice(2).map(String).join();
  for (const { path, times, values: row } of listedRows) {
    const [key, day, file, at] = row.map(String) as [string, string, string, string];
    const equalRows = results.filter((each) => each.key === `${day} ${key}`).map(({ rest }) => rest);
    const ownRow = equalRows.find(([filename, number]) => filename === file && String(number) === at);
    const first = equalRows[0];
    const earlierRow = first &&
      ownRow && { path: formatRowPath(files, first), isSame: formatText(first) === formatText(ownRow) };
    problems.error(describeRepeatedKey(path, key, Number(day), earlierRow), times);
  }
}

/** Key columns and number columns of a source. */
interface RowColumns extends Pick<CheckedColumns, 'fields'> {
  readonly identifier: string;
  readonly date: TypedColumn;
}

function formatRowPath(files: readonly ParquetFile[], [file, row]: readonly unknown[]): string {
  const label = files.find(({ path }) => path === String(file))?.label ?? 'market';
  return formatCellPath(label, Number(row) + 1, '');
}

interface BadRows {
  /** SQL of the values for the finding. */
  readonly selected: string;
  /** SQL of the FROM clause, for rows with `filename` and `file_row_number`. */
  readonly from: string;
  readonly files: readonly ParquetFile[];
}

/** Reports the rows of a query individually up to the maximum. The last reported row represents all further rows. */
async function reportRows(
  connection: DuckDBConnection,
  rows: BadRows,
  problems: Problems,
  problemOf: (path: string, values: readonly unknown[]) => DataProblem,
): Promise<void> {
  for (const { path, times, values } of await formatRows(connection, rows))
    problems.error(problemOf(path, values), times);
}

interface ListedRow {
  readonly path: string;
  readonly times: number;
  readonly values: readonly unknown[];
}

async function formatRows(connection: DuckDBConnection, { selected, from, files }: BadRows): Promise<ListedRow[]> {
  const rowsMax = SIMILAR_PROBLEMS_MAX + 1;
  const result = await connection.runAndReadAll(
    `SELECT filename, file_row_number, count(*) OVER (), ${selected} FROM ${from} ORDER BY 1, 2 LIMIT ${rowsMax}`,
  );
  return result.getRows().map(([file, row, count, ...values], i) => ({
    path: formatRowPath(files, [file, row]),
    times: i === SIMILAR_PROBLEMS_MAX ? Number(count) - SIMILAR_PROBLEMS_MAX : 1,
    values,
  }));
}

/** Type of timestamps after their conversion to local time. */
const LOCAL_TYPE = 'TIMESTAMP';

/** Files with their time zones and folder keys, and the columns of their scan. */
export interface ZonedFiles<F extends ParquetFile> {
  readonly files: readonly F[];
  readonly columns: readonly TypedColumn[];
}

/**
 * Returns files with the time zones in which their columns were written. Parquet stores instants, and midnight in
 * Berlin is the previous day in UTC. Pandas and Arrow store the zone in the metadata. A file without a zone is read in
 * UTC.
 * @param isKey returns true if a folder key becomes a column that files lack. Default: all keys
 * @throws Error for an unknown zone, and errors of DuckDB for an unreadable file
 * @cost one read of the columns of all files; if one has timestamps, of their footers too
 */
export async function addZones<F extends ParquetFile>(
  connection: DuckDBConnection,
  listed: readonly F[],
  isKey: (name: string) => boolean = () => true,
): Promise<ZonedFiles<F>> {
  const ownTypedColumns = await readColumns(connection, formatScan(listed, { withRows: false }));
  const { files, columns } = addKeys(listed, ownTypedColumns, isKey);
  const moments = columns.flatMap(({ name, type }) => (type === ZONED_TYPE ? [name] : []));
  if (moments.length === 0) return { files, columns };
  const pathsText = files.map(({ path }) => quoteText(path)).join(', ');
  const queryResult = await connection.runAndReadAll(
    `SELECT file_name, decode(key), decode(value) FROM parquet_kv_metadata([${pathsText}]) WHERE decode(key) IN ('pandas', 'ARROW:schema')`,
  );
  const metadataByFile = new Map<string, { pandas?: string; arrow?: string }>();
  for (const [path, key, value] of queryResult.getRows().map((row) => row.map(String) as [string, string, string])) {
    const note = metadataByFile.get(path) ?? {};
    note[key === 'pandas' ? 'pandas' : 'arrow'] = value;
    metadataByFile.set(path, note);
  }
  const zonedFiles = await Promise.all(
    files.map(async (file) => {
      const { pandas, arrow } = metadataByFile.get(file.path) ?? {};
      const zoneByColumn = arrow === undefined ? readPandasZones(pandas) : await readArrowZones(arrow);
      const zones = new Map([...zoneByColumn].filter(([name, zone]) => moments.includes(name) && !isUtc(zone)));
      for (const [name, zone] of zones) assertTimeZone(zone, name);
      return zones.size === 0 ? file : { ...file, zones };
    }),
  );
  const isLocal = (name: string): boolean => zonedFiles.some(({ zones }) => zones?.has(name));
  return {
    files: zonedFiles,
    columns: columns.map((typedColumn) =>
      isLocal(typedColumn.name) ? { ...typedColumn, type: LOCAL_TYPE } : typedColumn,
    ),
  };
}

/** Returns the time zones of columns in the pandas metadata of a table. */
function readPandasZones(text: string | undefined): ReadonlyMap<string, string> {
  const columns = text === undefined ? undefined : getMember(parseJson(text), 'columns');
  const zones = (Array.isArray(columns) ? columns : []).map((column: unknown) => [
    getMember(column, 'field_name') ?? getMember(column, 'name'),
    getMember(getMember(column, 'metadata'), 'timezone'),
  ]);
  return new Map(zones.filter((each): each is [string, string] => each.every((text) => typeof text === 'string')));
}

const getMember = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * Returns the time zones in the schema, which is an Arrow message in base64. Loads the decoder only if a column
 * contains timestamps.
 */
async function readArrowZones(text: string): Promise<ReadonlyMap<string, string>> {
  const { DataType, RecordBatchReader } = await import('apache-arrow');
  const reader = RecordBatchReader.from(Buffer.from(text, 'base64'));
  reader.open();
  return new Map(
    reader.schema.fields.flatMap(({ name, type }) =>
      DataType.isTimestamp(type) && type.timezone ? [[name, type.timezone] as const] : [],
    ),
  );
}
