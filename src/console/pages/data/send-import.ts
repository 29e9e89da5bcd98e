import type { ImportRequest, ImportResult, Operations } from '#clients/typescript/divisor.js';
import { health } from '../../state/live.js';
import { service, createTrouble, type Trouble } from '../../state/service.js';
import { countValues } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { readBlob, iterateParts } from './import-content.js';
import { isParquet, type ImportFile } from './import-files.js';

type ImportQuery = Operations['importStore']['request']['query'];

/** Result of an import. */
export interface Outcome {
  readonly result: ImportResult | null;
  readonly trouble: Trouble | null;
  /** True if some files were stored as a store although the service refused other files. */
  readonly isPartial?: boolean;
}

interface ImportOrder {
  readonly files: readonly ImportFile[];
  readonly header: JsonObject;
  readonly mapping: JsonObject | null;
  /** Called before each further request, with the number of files that were sent. */
  onSent(files: number): void;
}

/** Sends files that create a store. */
export async function sendImport(wanted: ImportOrder): Promise<Outcome> {
  return wanted.files.some(isParquet) ? sendTables(wanted) : sendParts(wanted);
}

/** Accepted requests of an import. */
interface AcceptedImport {
  readonly results: ImportResult[];
  files: number;
}

/**
 * Sends the requests in order. The first request creates the store, the others add to it, and the last one serves it.
 * If a later request is refused and `on_exists` is `refuse`, the new store is deleted. Otherwise the result is partial.
 */
async function sendParts(wanted: ImportOrder): Promise<Outcome> {
  const acceptedImport: AcceptedImport = { results: [], files: 0 };
  try {
    const bytesMax = health.peek()?.limits['MAX_IMPORT_BYTES'] ?? Infinity;
    for await (const { content, sent, isLast } of iterateParts({ ...wanted, bytesMax })) {
      const [first] = acceptedImport.results;
      const fields = first === undefined ? {} : { store_id: first.store.store_id, on_exists: 'append' };
      const activate = isLast && wanted.header['activate'] === true;
      const body = { ...wanted.header, ...fields, activate, mapping: wanted.mapping, ...content };
      // the service reports errors in the body
      acceptedImport.results.push(await service.value.call('importStore', { body: body as unknown as ImportRequest }));
      acceptedImport.files = sent;
      if (!isLast) wanted.onSent(sent);
    }
    return { result: mergeAnswers(acceptedImport.results), trouble: null };
  } catch (thrown) {
    return handleRefusedPart(createTrouble(thrown), acceptedImport, wanted);
  }
}

async function handleRefusedPart(
  trouble: Trouble,
  { results, files }: AcceptedImport,
  { header }: ImportOrder,
): Promise<Outcome> {
  const [first] = results;
  if (first === undefined) return { result: null, trouble };
  const { store_id } = first.store;
  if (header['on_exists'] === 'refuse') {
    const isDeleted = await service.value.call('deleteStore', { params: { store_id } }).then(
      () => true,
      () => false,
    );
    if (isDeleted) return { result: null, trouble };
  }
  const message = `${countValues(files, 'file')} were stored in ${store_id}, the others were not: ${trouble.message}`;
  return { result: null, trouble: { ...trouble, message }, isPartial: true };
}

const PARQUET = 'application/vnd.apache.parquet';

/**
 * Sends the tables. Each Parquet file is a separate request. Prices create the store, and the other tables are added to
 * it.
 */
async function sendTables({ files, header, mapping }: ImportOrder): Promise<Outcome> {
  const orderedFiles = files.toSorted((a, b) => Number(b.table === 'market') - Number(a.table === 'market'));
  const results: ImportResult[] = [];
  for (const file of orderedFiles) {
    const [made] = results;
    const first = { ...header, ...(mapping === null ? {} : { mapping: JSON.stringify(mapping) }) };
    const fields = { name: header['name'], store_id: made?.store.store_id, on_exists: 'append', dataset: file.table };
    const query = (made === undefined ? first : fields) as ImportQuery; // the service reports errors in the body
    try {
      results.push(await service.value.upload('importStore', PARQUET, await readBlob(file), { query }));
    } catch (thrown) {
      const trouble = createTrouble(thrown);
      if (made === undefined) return { result: null, trouble };
      const message = `The store ${made.store.store_id} was created with the prices, but ${file.file.name} was not added: ${trouble.message}`;
      return { result: null, trouble: { ...trouble, message }, isPartial: true };
    }
  }
  return { result: mergeAnswers(results), trouble: null };
}

/** Returns the last response with the rows and findings of all responses. */
function mergeAnswers(done: readonly ImportResult[]): ImportResult | null {
  const last = done.at(-1);
  if (last === undefined) return null;
  const rows: Record<string, number> = {};
  for (const result of done)
    for (const [table, read] of Object.entries(result.rows)) rows[table] = (rows[table] ?? 0) + read;
  return { ...last, rows, findings: done.flatMap(({ findings }) => findings) };
}
