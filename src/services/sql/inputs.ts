import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as ByteStream } from 'node:stream/web';
import { findReferenceKind } from '#domain/datapoints/resolution.js';
import type { ExportColumn } from '#domain/exports/export-table.js';
import { createMarketKey } from '#domain/market/market-identity.js';
import type { MarketData } from '#domain/market/market-data.js';
import { PRICE_KEYS, REFERENCE_KEYS, SQL_VIEWS, type ListCell, type ListViewName } from '#domain/sql/views.js';
import type { SqlColumnType, SqlInputs, SqlNeeds, SqlOrder } from '#market/sql/sql-order.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentStore } from '#store/port.js';
import { computeRunId } from '#store/run-id.js';
import { createIndexList } from '../indices/index-list.js';
import type { ExportBody, Exports } from '../runs/exports.js';
import { readRun } from '../stored/run-documents.js';
import type { LeasedFile, InputFiles } from './input-files.js';

export interface SqlInputsDependencies {
  readonly documents: Pick<DocumentStore, 'get' | 'ids' | 'list' | 'revision'>;
  readonly exports: Exports;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly markets: Pick<Markets, 'current' | 'require'>;
  readonly files: InputFiles;
}

/** Inputs of one query. They stay in use until the query is answered. */
export interface OpenInputs {
  /** @param runs ids of indices and strategies whose runs may be read */
  read(needs: SqlNeeds, runs: ReadonlySet<string>): Promise<SqlInputs>;
  release(): void;
}

/** Creates the tables that queries can read: the tables of runs, the served market, and lists of documents. */
export function createSqlInputs({ documents, exports, jobs, markets, files }: SqlInputsDependencies) {
  const listIndices = createIndexList(documents);

  async function holdRunFile(
    view: SqlNeeds['runs'][number]['view'],
    subject: string,
    signal: AbortSignal,
  ): Promise<LeasedFile> {
    const { etag, open } = await exports.export({ subject, id: undefined }, { table: view, format: 'parquet' });
    return files.hold(etag, async (path) => writeBody(path, await open(signal)));
  }

  async function readMarketFile({ view, columns }: SqlNeeds['market'][number], signal: AbortSignal) {
    const { market, handle } = markets.require();
    const viewColumns = Object.keys(createColumns(market)[view]);
    const selectedColumns = columns === null ? viewColumns : viewColumns.filter((name) => columns.includes(name));
    const key = createHash('sha256')
      .update(JSON.stringify([createMarketKey(handle), view, selectedColumns]))
      .digest('hex');
    const leasedFile = await files.hold(key, async (path) => {
      await jobs.query('market-table', { market: handle, table: view, columns: selectedColumns, path }, signal);
    });
    const keys: Readonly<Record<string, ExportColumn>> = SQL_VIEWS[view].columns;
    return { held: leasedFile, columns: viewColumns.filter((name) => name in keys || selectedColumns.includes(name)) };
  }

  const lists: Readonly<Record<ListViewName, () => Promise<readonly (readonly ListCell[])[]>>> = {
    indices: async () =>
      (await listIndices({ limit: undefined, after: undefined })).indices.map((index) => [
        index.id,
        index.name,
        index.kind,
        index.source_index_id,
        index.calendar,
        index.currency,
        index.base_date,
      ]),
    runs: async () =>
      (await documents.list('run', readRun)).documents.map((run) => [
        run.run_id,
        computeRunId(run),
        run.name,
        run.run_at,
        run.start,
        run.end,
        run.index_version ?? null,
        run.store_id ?? null,
        run.store_version ?? null,
        run.store_content_hash,
        run.engine_version,
      ]),
  };

  return {
    /** Returns the ids with a run that the client may read. */
    runs: () => documents.ids('run'),
    columns: async (): Promise<SqlOrder['columns']> => createColumns(markets.current()?.market),
    open(signal: AbortSignal): OpenInputs {
      const leasedFiles: LeasedFile[] = [];

      async function holdRunFiles(runNeeds: SqlNeeds['runs'], allowedIds: ReadonlySet<string>): Promise<string[]> {
        const paths: string[] = [];
        for (const { view, indexId } of runNeeds) {
          if (!allowedIds.has(indexId)) throw new Error(`a query asked for ${view} of ${indexId}`);
          const leasedFile = await holdRunFile(view, indexId, signal);
          leasedFiles.push(leasedFile);
          paths.push(leasedFile.path);
        }
        return paths;
      }

      async function readMarketFiles(marketNeeds: SqlNeeds['market']): Promise<SqlInputs['market']> {
        const marketFiles: SqlInputs['market'][number][] = [];
        for (const need of marketNeeds) {
          const { held, columns } = await readMarketFile(need, signal);
          leasedFiles.push(held);
          marketFiles.push({ file: held.path, columns });
        }
        return marketFiles;
      }

      return {
        async read(needs, allowedIds) {
          const runs = holdRunFiles(needs.runs, allowedIds);
          const market = readMarketFiles(needs.market);
          await Promise.allSettled([runs, market]); // Waits also after an error, because no file may be in use after the release.
          return {
            runs: await runs,
            market: await market,
            lists: await Promise.all(needs.lists.map((list) => lists[list]())),
          };
        },
        release: () => leasedFiles.forEach((leasedFile) => leasedFile.release()),
      };
    },
  };
}

/** Returns the columns of the views. The columns of a market view depend on the fields of the market. */
function createColumns(market: MarketData | undefined): SqlOrder['columns'] {
  const fixedColumns = Object.entries(SQL_VIEWS).map(([view, { columns }]) => [view, getTypes(columns)]);
  return {
    ...(Object.fromEntries(fixedColumns) as SqlOrder['columns']), // the object has one member per view
    prices: { ...getTypes(PRICE_KEYS), ...nameColumns(PRICE_KEYS, [...(market?.fields.keys() ?? [])], () => 'number') },
    reference: {
      ...getTypes(REFERENCE_KEYS),
      ...nameColumns(
        REFERENCE_KEYS,
        market?.reference.columns ?? [],
        (name) => COLUMN_KINDS[findReferenceKind(market!, name)],
      ),
    },
  };
}

const COLUMN_KINDS = { string: 'text', number: 'number', boolean: 'flag' } as const;

const getTypes = (columns: Readonly<Record<string, ExportColumn>>) =>
  Object.fromEntries(Object.entries(columns).map(([name, { type }]) => [name, type]));

/** Returns the types of columns. A column is left out if its name equals another column or a key, ignoring case. */
function nameColumns(
  keys: Readonly<Record<string, ExportColumn>>,
  names: readonly string[],
  getType: (name: string) => SqlColumnType,
): Record<string, SqlColumnType> {
  const usedNames = new Set(Object.keys(keys));
  const types: Record<string, SqlColumnType> = {};
  for (const name of names) {
    if (usedNames.has(name.toLowerCase())) continue;
    usedNames.add(name.toLowerCase());
    types[name] = getType(name);
  }
  return types;
}

async function writeBody(path: string, body: ExportBody): Promise<void> {
  if (body.bytes !== undefined) return writeFile(path, body.bytes, { mode: 0o600 });
  await pipeline(Readable.fromWeb(body.stream as ByteStream), createWriteStream(path, { mode: 0o600 }));
}
