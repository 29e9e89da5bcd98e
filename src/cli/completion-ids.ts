import { createDivisorClient } from '#clients/typescript/divisor.js';
import { homeFolders } from '#store/home/home.js';
import type { IdKind } from './completion.js';
import { seenDocuments } from './seen-documents.js';
import { readSettings } from './settings.js';
import { UsageError } from './usage-error.js';

/** Kinds of documents whose ids are offered. */
const DOCUMENTS: Readonly<Record<IdKind, readonly string[]>> = { indices: ['index', 'strategy'], stores: ['store'] };

const isIdKind = (word: string): word is IdKind => Object.hasOwn(DOCUMENTS, word);

/**
 * `divisor completion ids KIND`, which the scripts of the shells ask: the ids of a running service (`DIVISOR_URL`), or of
 * the home, one a line. Nothing is opened for writing. @throws UsageError
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
  return (await client.call('listIndices')).indices.map(({ id }) => id);
}

async function storedIds(kind: IdKind, environment: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const { settings } = readSettings([], environment);
  const documents = (await seenDocuments(homeFolders(settings.home), settings.database)) ?? [];
  return documents.flatMap(({ kind: own, id }) => (DOCUMENTS[kind].includes(own ?? '') ? [id] : []));
}
