import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { tableFromIPC } from 'apache-arrow';
import { expect } from 'vitest';
import type { ExportView } from '#contract/runs.js';
import { EXPORT_FORMATS, type ExportFormat, type ExportTableName, listExportColumns } from '#domain/outputs/exports.js';
import { formatDay } from '#domain/base/time.js';
import { openLiveService, type LiveService } from '../../../real/live.js';
import { readWorkbook } from '../../../views/exports/read-workbook.js';
import { createEqualIndex } from '../../../equal-index.js';

export const IDS = ['CAPPED', 'HEDGED', 'LAZY'] as const;
export type Cell = string | number | null;
export type Row = Readonly<Record<string, Cell>>;

/** The last session of the market. */
export const LAST = '2022-08-31';

export let service: LiveService;
let connection: DuckDBConnection;
const folder = mkdtempSync(join(tmpdir(), 'divisor-exports-'));

export async function openExports(): Promise<void> {
  connection = await (await DuckDBInstance.create()).connect();
  service = await openLiveService();
  await service.job('/data/synthetic', {
    store_id: 'market',
    seed: 11,
    assets: 40,
    start: '2019-01-02',
    end: LAST,
    splits_per_year: 0.4,
    delistings_per_year: 0.06,
  });
  await service.ok('POST', '/indices', {
    id: 'CAPPED',
    name: 'Capped',
    calendar: 'XNYS',
    base_date: '2019-07-01',
    universe: { kind: 'named', id: 'SYNTH' },
    rebalance: { frequency: 'quarterly', anchor: 'third_friday', effective_lag: 5 },
    pipeline: {
      selection: [{ id: 'top', type: 'TopN', params: { count: 15 } }],
      treatment: { dividends: 'total' },
      weighting: { type: 'MarketCapWeight', cap: 0.12 },
    },
  });
  await service.job('/analytics/CAPPED/backtest', { transaction_cost_bps: 7 });
  const { weights } = await service.ok<{ weights: { identifier: string }[] }>('GET', '/analytics/CAPPED/weights');
  await service.ok('POST', '/indices/CAPPED/optimise', {
    id: 'HEDGED',
    name: 'Hedged',
    constraints: [
      {
        type: 'PositionBounds',
        params: { lower: -0.08, upper: -0.04, identifiers: weights.slice(0, 2).map(({ identifier }) => identifier) },
      },
      { type: 'WeightSum', params: { lower: 0.5, upper: 0.9 } },
    ],
  });
  await service.job('/analytics/HEDGED/backtest', { start: '2020-02-03', transaction_cost_bps: 7 });
  await service.ok('POST', '/strategies', {
    id: 'LAZY',
    name: 'Lazy',
    index_id: 'CAPPED',
    transaction_cost_bps: 20,
    rebalance: { frequency: 'annual', anchor: 'last_session' },
    exposure: 0.95,
  });
  await service.job('/analytics/LAZY/backtest');
  await service.ok(
    'POST',
    '/indices',
    createEqualIndex('WIDE', {
      name: 'Wide',
      base_date: '2019-01-02',
      universe: { kind: 'named', id: 'SYNTH' },
      rebalance: { frequency: 'monthly' },
    }),
  );
  await service.job('/analytics/WIDE/backtest');
}

export async function closeExports(): Promise<void> {
  connection.closeSync();
  await service.close();
  rmSync(folder, { recursive: true, force: true });
}

export interface ExportRequest {
  readonly id: string;
  readonly table: ExportTableName;
  readonly query?: string;
}

/** Returns the columns of a table. The synthetic store has no identifiers of other vendors. */
const listColumns = (table: ExportTableName) => listExportColumns(table, []);

/** Returns the request for a table. The table of announced compositions is requested on a session that has one. */
export const createExportRequest = (id: string, table: ExportTableName): ExportRequest => ({
  id,
  table,
  ...(table === 'proforma' ? { query: '&date=2022-06-15' } : {}),
});

export const formatPath = ({ id, table, query = '' }: ExportRequest, format: ExportFormat): string =>
  `/analytics/${id}/exports/${table}?format=${format}${query}`;

export async function readBytes(request: ExportRequest, format: ExportFormat): Promise<Buffer> {
  const response = await fetch(`${service.url}${formatPath(request, format)}`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain(EXPORT_FORMATS[format].media);
  expect(response.headers.get('content-disposition')).toBe(
    `attachment; filename="${request.id}-${request.table}.${EXPORT_FORMATS[format].extension}"`,
  );
  return Buffer.from(await response.arrayBuffer());
}

/**
 * Returns true if rows are exactly equal. An assertion that describes differences would take a hundred times as long.
 */
export const areSame = (a: readonly Row[], b: readonly Row[]): boolean =>
  a.length === b.length &&
  a.every((row, i) => {
    const names = Object.keys(row);
    const other = b[i]!;
    return names.length === Object.keys(other).length && names.every((name) => Object.is(row[name], other[name]));
  });

export function expectRows(actual: readonly Row[], expected: readonly Row[], label?: string): void {
  if (!areSame(actual, expected)) expect(actual, label).toEqual(expected);
}

/** Rows by path. They are used again while the ETag is unchanged. */
const knownExports = new Map<string, { readonly etag: string; readonly rows: Row[] }>();

export async function readJson(request: ExportRequest): Promise<Row[]> {
  const path = formatPath(request, 'json');
  const last = knownExports.get(path);
  if (last !== undefined) {
    const headers = { 'if-none-match': last.etag };
    if ((await fetch(`${service.url}${path}`, { method: 'HEAD', headers })).status === 304) return last.rows;
  }
  const { headers, body } = await service.ask<ExportView>('GET', path);
  if (body.columns === undefined) throw new Error(`${path} answered ${JSON.stringify(body).slice(0, 500)}`);
  const rows = toRows(request, body);
  knownExports.set(path, { etag: headers.get('etag')!, rows });
  return rows;
}

function toRows(request: ExportRequest, { columns, data }: ExportView): Row[] {
  expect(columns).toEqual(Object.keys(listColumns(request.table)));
  return data.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i]!])));
}

/** Column types that a reader receives, by their names in DuckDB. */
const DUCK_TYPES = { date: 'VARCHAR', text: 'VARCHAR', number: 'DOUBLE', count: 'INTEGER' } as const;

export async function readCsvByDuckDb(request: ExportRequest): Promise<Row[]> {
  const columns = listColumns(request.table);
  const path = join(folder, `${request.id}-${request.table}.csv`);
  writeFileSync(path, await readBytes(request, 'csv'));
  const types = Object.entries(columns).map(([name, { type }]) => `'${name}': '${DUCK_TYPES[type]}'`);
  const rows = await connection.runAndReadAll(
    `SELECT * FROM read_csv('${path}', header = true, delim = ',', quote = '"', escape = '"', nullstr = '', columns = {${types.join(', ')}})`,
  );
  return rows.getRowObjectsJS() as unknown as Row[];
}

/** Column types in Parquet, by their names in DuckDB. */
const PARQUET_TYPES = { date: 'DATE', text: 'VARCHAR', number: 'DOUBLE', count: 'INTEGER' } as const;

export async function readParquetByDuckDb(request: ExportRequest): Promise<Row[]> {
  const columns = listColumns(request.table);
  const path = join(folder, `${request.id}-${request.table}.parquet`);
  writeFileSync(path, await readBytes(request, 'parquet'));
  const result = await connection.runAndReadAll(`SELECT * FROM '${path}'`);
  expect(result.columnTypes().map(String)).toEqual(Object.values(columns).map(({ type }) => PARQUET_TYPES[type]));
  return result.getRowObjectsJS().map((row) => {
    const cells = Object.entries(row as Record<string, Cell | Date>);
    return Object.fromEntries(
      cells.map(([name, cell]) => [name, cell instanceof Date ? cell.toISOString().slice(0, 10) : cell]),
    );
  });
}

export async function readRowsByArrow(request: ExportRequest): Promise<Row[]> {
  const columns = listColumns(request.table);
  const table = tableFromIPC(await readBytes(request, 'arrow'));
  expect(table.schema.metadata.get('table')).toBe(request.table);
  for (const field of table.schema.fields) {
    expect(field.metadata.get('meaning')).toBe(columns[field.name]!.meaning);
    expect(field.metadata.get('unit') ?? null).toBe(columns[field.name]!.unit);
  }
  return table.toArray().map((row) => {
    const values = row!.toJSON() as Record<string, Cell>;
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        columns[name]!.type === 'date' && value !== null ? formatDay(Math.round(Number(value) / 86_400_000)) : value,
      ]),
    );
  });
}

export async function readRowsByWorkbook(request: ExportRequest): Promise<Row[]> {
  const [sheet, ...otherSheets] = await readWorkbook(await readBytes(request, 'xlsx'));
  expect(otherSheets).toEqual([]);
  const [header, ...rows] = sheet!.rows;
  expect(header).toEqual(Object.keys(listColumns(request.table)));
  return rows.map((row) => Object.fromEntries(header!.map((column, i) => [String(column), row[i]!])));
}
