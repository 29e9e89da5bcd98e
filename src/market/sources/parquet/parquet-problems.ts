import type { DuckDBConnection } from '@duckdb/node-api';
import { isAssetIdentifier } from '#domain/schema/shape.js';
import { readDay } from '../../formats/cells.js';
import { COUNT_COLUMNS, PRICE_COLUMNS } from '../../tables/table-kinds.js';
import { toCell, streamChunks, quoteName, quoteText, type DuckDb } from '../../formats/duckdb.js';
import {
  describeBadDay,
  describeBadIdentifier,
  formatNonPositivePrice,
  describeRepeatedKey,
} from '../../tables/key-problems.js';
import { replaceSlashes } from '../../tables/slashless-names.js';
import {
  formatOptionalDayExpression,
  type CheckedColumns,
  type NumberColumn,
  type ParquetFile,
  type TypedColumn,
} from './parquet.js';
import { SIMILAR_PROBLEMS_MAX, formatCellPath, type Problem, type Problems } from '../../tables/problems.js';

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
  problemAt: (path: string, written: string | null) => Problem,
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

/** Returns the location of a row that begins with its file and its row number. */
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
  problemOf: (path: string, values: readonly unknown[]) => Problem,
): Promise<void> {
  for (const { path, times, values } of await formatRows(connection, rows))
    problems.error(problemOf(path, values), times);
}

interface ListedRow {
  readonly path: string;
  /** Number of rows that this row represents. */
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
