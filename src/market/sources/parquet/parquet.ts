import type { DuckDBConnection } from '@duckdb/node-api';
import type { Mapping } from '#domain/documents/mapping.js';
import { ADJUSTED_CLOSE, renameColumns } from '../../mapping/mapped-columns.js';
import { hasPlainRows } from '../../mapping/market-tables.js';
import { quoteName, quoteText } from '../../formats/duckdb.js';
import { nameFileColumns } from '../../tables/named-columns.js';
import type { Problems } from '../../tables/problems.js';
import { parseOffsetMinutes } from '../../formats/time-zones.js';

/** Parquet file of a dataset, as listed in its folder. */
export interface ParquetFile {
  /** Path with symbolic links resolved. */
  readonly path: string;
  /** Name of the file in findings. */
  readonly label: string;
  /** Time zones in which timestamp columns were written; UTC if absent. */
  readonly zones?: ReadonlyMap<string, string>;
  /** Folder keys that become columns of the scan. */
  readonly keys?: readonly string[];
}

/** Column of a Parquet source with its DuckDB type. */
export interface TypedColumn {
  readonly name: string;
  readonly type: string;
}

const NUMERIC_TYPE =
  /^(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|UTINYINT|USMALLINT|UINTEGER|UBIGINT|UHUGEINT|FLOAT|DOUBLE|DECIMAL\(.*\))$/;
const TIMESTAMP_TYPE = /^TIMESTAMP/;

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

/** Returns the SQL for the folder key of a file, as text. */
function formatKeySql(key: string): string {
  const folder = `.*/${key.replace(/[^\p{L}\p{N}_]/gu, '\\$&')}=([^/]*)/`;
  const text = `url_decode(regexp_extract(filename, ${quoteText(folder)}, 1))`;
  return `nullif(nullif(${text}, '__HIVE_DEFAULT_PARTITION__'), '')`;
}

/** Returns the SQL that converts the timestamps of a column to local time in the time zones of its files. */
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
export interface NumberColumn {
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
export interface CheckedColumns {
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

/** Returns the columns of a mapped market; their problems are reported when their cells are read. */
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
export const ZONED_TYPE = 'TIMESTAMP WITH TIME ZONE';

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
export function formatOptionalDayExpression(date: TypedColumn): string {
  const column = quoteName(date.name);
  if (date.type === 'VARCHAR') return `(TRY_CAST(${formatDaysText(column)} AS DATE) - DATE '1970-01-01')::INTEGER`;
  return `CASE WHEN isfinite(${column}) THEN ${formatDayExpression(date)} END`;
}

const formatDaysText = (column: string) => `substr(trim(${column}), 1, 10)`;
