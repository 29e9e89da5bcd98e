import type { DuckDBConnection } from '@duckdb/node-api';
import { quoteText } from '../../formats/duckdb.js';
import { readColumns, formatScan, ZONED_TYPE, type ParquetFile, type TypedColumn } from './parquet.js';
import { addKeys } from './parquet-keys.js';
import { assertTimeZone, isUtc } from '../../formats/time-zones.js';

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
