import { createDivisorClient, type DivisorClient } from '#clients/typescript/divisor.js';
import { homeFolders } from '#store/home/home.js';
import type { IdKind } from './completion.js';
import { seenDocuments } from './seen-documents.js';
import { readSettings } from './settings.js';
import { UsageError } from './usage-error.js';

/** Kinds of documents whose ids are offered. */
const DOCUMENTS: Readonly<Record<IdKind, readonly string[]>> = {
  indices: ['index', 'strategy'],
  stores: ['store'],
  names: [], // of the market that a service holds
};

/** Names of a market that are offered: a shell lists no more. */
const NAMES_MAX = 10_000;
/** Names of one answer. */
const PAGE_NAMES = 1000;

const isIdKind = (word: string): word is IdKind => Object.hasOwn(DOCUMENTS, word);

/**
 * `divisor completion ids KIND`, which the scripts of the shells ask: the ids of a running service (`DIVISOR_URL`), or of
 * the home, one a line. Names are those of the store that a service
 * serves. Nothing is opened for writing. @throws UsageError
 */
export async function completionIds(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [kind = '', ...rest] = argv;
  if (!isIdKind(kind) || rest.length > 0)
    throw new UsageError(`divisor completion ids takes one of ${Object.keys(DOCUMENTS).join(', ')}`);
  const ids = await (environment['DIVISOR_URL'] === undefined
    ? storedIds(kind, environment)
    : servedIds(kind, environment));
  process.stdout.write(ids.map((id) => `${id}\n`).join(''));
  return 0;
}

async function servedIds(kind: IdKind, environment: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const client = createDivisorClient({ url: environment['DIVISOR_URL']!, key: environment['DIVISOR_API_KEY'] }); // it is set
  if (kind === 'stores') return (await client.call('listStores')).stores.map(({ store_id: id }) => id);
  if (kind === 'names') return servedNames(client);
  return (await client.call('listIndices')).indices.map(({ id }) => id);
}

async function servedNames(client: DivisorClient): Promise<readonly string[]> {
  const names: string[] = [];
  for (let after: string | undefined; names.length < NAMES_MAX;) {
    const { identifiers, next } = await client.call('searchIdentifiers', { query: { limit: PAGE_NAMES, after } });
    names.push(...identifiers.map(({ identifier }) => identifier));
    if (next === null) break;
    after = next;
  }
  return names;
}

async function storedIds(kind: IdKind, environment: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const { settings } = readSettings([], environment);
  const documents = (await seenDocuments(homeFolders(settings.home), settings.database)) ?? [];
  return documents.flatMap(({ kind: own, id }) => (DOCUMENTS[kind].includes(own ?? '') ? [id] : []));
}
