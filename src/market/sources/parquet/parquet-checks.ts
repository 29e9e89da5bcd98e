import type { DuckDBConnection } from '@duckdb/node-api';
import type { Problems } from '../../tables/problems.js';
import { quoteText } from '../../formats/duckdb.js';
import type { ParquetFile, TypedColumn } from './parquet.js';

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
