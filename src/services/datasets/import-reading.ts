import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImportHeader, TableFormat } from '#domain/documents/import-request.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { runMarketTask, type MarketTaskResult } from '#market/process/market-process.js';
import type { OnImport } from '#market/import/import-answer.js';
import type { TableKind } from '#market/tables/table-kinds.js';
import { isFull } from '#market/panels/shared-market.js';
import type { Requester, Gate } from '../shared/gate.js';
import { convertFailure } from './refused-data.js';

/** Body of an import. */
export type ImportedBody =
  | { readonly kind: 'json'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'table';
      readonly header: ImportHeader;
      readonly dataset: TableKind;
      readonly format: TableFormat;
      readonly bytes: AsyncIterable<Uint8Array>;
    };

interface ImportReadingDependencies {
  /** Limits the number of concurrent readers. */
  readonly readers: Gate;
  /** Limits the number of concurrent uploads. */
  readonly uploads: Gate;
}

interface ImportTerms {
  /** Called when the header has been read. */
  readonly onImport: OnImport;
  readonly asker: Requester;
}

/** Reads the data of an import into the folder of its future store. */
export const readImport = (
  dependencies: ImportReadingDependencies,
  body: ImportedBody,
  terms: ImportTerms,
): Promise<MarketTaskResult> =>
  body.kind === 'json' ? readJson(dependencies, body.bytes, terms) : readTable(dependencies, body, terms);

async function readJson(
  { readers }: ImportReadingDependencies,
  body: Uint8Array,
  { onImport, asker }: ImportTerms,
): Promise<MarketTaskResult> {
  const options = { load: UNNAMED, body, onImport, signal: asker.signal };
  return readers(() => convertFailure('content', runMarketTask('importBody', {}, options)), asker);
}

/** Writes a table into the folder of the new store and reads it there. */
async function readTable(
  { readers, uploads }: ImportReadingDependencies,
  { header, dataset, format, bytes }: Extract<ImportedBody, { kind: 'table' }>,
  { onImport, asker }: ImportTerms,
): Promise<MarketTaskResult> {
  return uploads(async () => {
    const answer = await onImport(header);
    const path = join(answer.folder, UPLOADED);
    try {
      await convertFailure('content', writeUpload(path, bytes));
      const options = { load: answer.load ? UNNAMED : null, signal: asker.signal };
      const input = { table: { path, dataset, format }, answer, terms: header };
      return await readers(() => convertFailure('content', runMarketTask('importTable', input, options)), asker);
    } finally {
      await removeUpload(path);
    }
  }, asker);
}

/** Identity that is used for panels before the header with the store's id has been read. */
const UNNAMED = { datasetId: '', adjustment: 'none' } as const;

/**
 * File name of a received table in the folder of the new store. The file is never read as data. After a crash it is
 * removed with the folder.
 */
const UPLOADED = '.uploaded';

/** Writes an upload to a file. @throws Refusal STORAGE_FULL, STORE_WRITE_FAILED, and errors of reading the bytes */
async function writeUpload(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await writeFile(path, bytes, { flag: 'wx', mode: 0o600 });
  } catch (failure) {
    if (failure instanceof Refusal) throw failure;
    const code = isFull(failure) ? 'STORAGE_FULL' : 'STORE_WRITE_FAILED';
    throw new Refusal(code, 'The table could not be written.', null, { cause: failure });
  }
}

/** Removes a received table, and the file to which an Arrow stream was converted. */
async function removeUpload(path: string): Promise<void> {
  await Promise.all([path, `${path}.parquet`].map((file) => rm(file, { force: true })));
}
