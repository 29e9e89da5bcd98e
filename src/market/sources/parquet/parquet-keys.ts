import type { DuckDBConnection } from '@duckdb/node-api';
import { formatDay } from '#domain/time/days.js';
import { getColumnName } from '../../tables/table-kinds.js';
import type { Problems } from '../../tables/problems.js';
import { toCell, quoteName, formatBoundText } from '../../formats/duckdb.js';
import { readDay } from '../../formats/cells.js';
import { describeIgnoredKey, isBarKey, listKeys, normaliseName, type FolderKey } from '../folder-keys.js';
import { formatScan, type ParquetFile, type TypedColumn } from './parquet.js';

/**
 * Returns files with the folder keys that become columns of the scan. A folder key becomes a column if it is wanted and
 * the files have no such column.
 * @param ownTypedColumns columns of the files
 */
export function addKeys<F extends ParquetFile>(
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
