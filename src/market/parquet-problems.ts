import type { DuckDBConnection } from '@duckdb/node-api';
import { isAssetIdentifier } from '#domain/shape.js';
import { dayIn, type Cell } from './cells.js';
import { PRICE_COLUMNS, COUNT_COLUMNS } from './datasets.js';
import { cellOf, chunksOf, sqlName } from './duckdb.js';
import { badDay, badIdentifier, repeatedKey } from './key-problems.js';
import { dayExpression, type MarketColumns, type ParquetFile } from './parquet.js';
import { cellPath, FINDINGS_MAX, type Problems } from './problems.js';

/** A typed source that can say where its rows stand. */
export interface NumberedSource {
  readonly files: readonly ParquetFile[];
  readonly numberedScan: string;
  readonly columns: Extract<MarketColumns, { kind: 'typed' }>;
}

/** Looks for keys that are none, and tells where they stand. */
export async function tellBadKeys(connection: DuckDBConnection, source: NumberedSource, problems: Problems): Promise<void> {
  const { columns, numberedScan } = source;
  const sql = `SELECT filename, file_row_number, ${sqlName(columns.identifier)}, ${sqlName(columns.date.name)} FROM ${numberedScan}`;
  for await (const chunk of chunksOf(connection, sql)) {
    for (const [file, row, identifier, date] of chunk.getRows()) {
      const text = typeof identifier === 'string' ? identifier.trim() : null;
      const label = labelOf(source.files, String(file));
      if (text === null || !isAssetIdentifier(text)) problems.error(badIdentifier(cellPath(label, Number(row) + 1, columns.identifier), text));
      const cell: Cell = cellOf(date!);
      const day = dayIn(cell);
      if (typeof day !== 'number') problems.error(badDay(cellPath(label, Number(row) + 1, columns.date.name), columns.date.name, day === null ? null : String(date)));
      if (problems.errors > FINDINGS_MAX) return;
    }
  }
}

/** Looks for values that a field cannot have and for rows that stand twice, and tells where. */
export async function tellBadValues(connection: DuckDBConnection, source: NumberedSource, problems: Problems): Promise<void> {
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
