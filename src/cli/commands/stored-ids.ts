import { stat } from 'node:fs/promises';
import { createDivisorClient, type DivisorClient } from '#clients/typescript/divisor.js';
import type { DatasetDocument } from '#domain/definition/datasets.js';
import { readDataset } from '#services/shared/store-documents.js';
import { type HomeFolders, listHomeFolders } from '#store/home/home.js';
import { openOwnDocuments } from '#store/home/verify.js';
import type { DocumentsReader } from '#store/port.js';
import { assertMigrated } from '#store/postgres/migrate.js';
import { openPostgresReader, runWithClient } from '#store/postgres/open-documents.js';
import { readSettings } from '../settings/settings.js';
import { UsageError } from '../usage.js';
import type { IdKind } from './completion.js';

/** Parts of a stored document that are checked. */
export interface CheckedDocument {
  readonly id: string;
  readonly kind: string | undefined;
  readonly isReadable: boolean;
  /** Set for a data store. */
  readonly dataset: DatasetDocument | undefined;
}

/** Reads the documents; undefined if there are none. @throws StartRefusal if they cannot be opened */
export async function readCheckedDocuments(
  home: HomeFolders,
  database: string | undefined,
): Promise<readonly CheckedDocument[] | undefined> {
  const reader = database === undefined ? await findOwnDocuments(home) : await openDatabaseDocuments(database);
  if (reader === undefined) return undefined;
  try {
    const documents: CheckedDocument[] = [];
    for await (const { kind, id, unreadable, body } of reader.entries())
      documents.push({
        id,
        kind,
        isReadable: unreadable === undefined,
        dataset: kind === 'store' ? readDataset(body) : undefined,
      });
    return documents;
  } finally {
    await reader.close();
  }
}

async function findOwnDocuments(home: HomeFolders): Promise<DocumentsReader | undefined> {
  const hasDatabase = (await stat(`${home.documents}/data.mdb`).catch(() => undefined)) !== undefined;
  return hasDatabase ? openOwnDocuments(home) : undefined;
}

async function openDatabaseDocuments(url: string): Promise<DocumentsReader> {
  await runWithClient(url, assertMigrated);
  return openPostgresReader(url);
}

/** Document kinds whose ids are offered as completions, by kind of id. */
const DOCUMENTS: Readonly<Record<IdKind, readonly string[]>> = {
  indices: ['index', 'strategy'],
  stores: ['store'],
  names: [], // securities are listed from the served market, not from documents
};

/** Maximum number of securities to complete. No shell lists more. */
const NAMES_MAX = 10_000;
/** Securities per page of the response. */
const PAGE_NAMES = 1000;

const isIdKind = (word: string): word is IdKind => Object.hasOwn(DOCUMENTS, word);

/**
 * Runs `divisor completion ids KIND` for the completion scripts. Prints the ids of a running service (`DIVISOR_URL`) or
 * of the home, one per line. The ids of `names` are the securities of the served store. Changes nothing in the home.
 * @throws UsageError
 */
export async function runCompletionIds(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [kind = '', ...rest] = argv;
  if (!isIdKind(kind) || rest.length > 0)
    throw new UsageError(`divisor completion ids takes one of ${Object.keys(DOCUMENTS).join(', ')}`);
  const ids = await (environment['DIVISOR_URL'] === undefined
    ? listStoredIds(kind, environment)
    : listServedIds(kind, environment));
  process.stdout.write(ids.map((id) => `${id}\n`).join(''));
  return 0;
}

async function listServedIds(kind: IdKind, environment: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const client = createDivisorClient({ url: environment['DIVISOR_URL']!, key: environment['DIVISOR_API_KEY'] }); // the caller has checked that DIVISOR_URL is set
  if (kind === 'stores') return (await client.call('listStores')).stores.map(({ store_id: id }) => id);
  if (kind === 'names') return listServedNames(client);
  return (await client.call('listIndices')).indices.map(({ id }) => id);
}

async function listServedNames(client: DivisorClient): Promise<readonly string[]> {
  const names: string[] = [];
  for (let after: string | undefined; names.length < NAMES_MAX;) {
    const { identifiers, next } = await client.call('searchIdentifiers', { query: { limit: PAGE_NAMES, after } });
    names.push(...identifiers.map(({ identifier }) => identifier));
    if (next === null) break;
    after = next;
  }
  return names;
}

async function listStoredIds(kind: IdKind, environment: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const { settings } = readSettings([], environment);
  const documents = (await readCheckedDocuments(listHomeFolders(settings.home), settings.database)) ?? [];
  return documents.flatMap(({ kind: documentKind, id }) => (DOCUMENTS[kind].includes(documentKind ?? '') ? [id] : []));
}
