import { readIndex } from '#domain/checks/validate-index.js';
import { hasValidTexts } from '#domain/documents/amended-texts.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { checkStores, findStore } from '#domain/documents/store-of-documents.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Finding } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { Id } from '#domain/schema/shape.js';
import { getCallMarket } from '#market/serving/call-market.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentReader } from '#store/port.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { findIndex, reachDocuments } from '../stored/stored-indices.js';

export interface StoreSources {
  readonly documents: Pick<DocumentReader, 'get' | 'ids'>;
  readonly stores: Pick<StoreMarkets, 'of'>;
  readonly markets: Pick<Markets, 'current'>;
}

/** Documents and stores that determine the store of a definition. */
interface StoreToRunOn {
  readonly documents: Pick<DocumentReader, 'get'>;
  readonly stores: Pick<StoreMarkets, 'within'>;
}

/** Members of a definition as a client sent it. */
type Body = Readonly<Record<string, unknown>>;

/**
 * Runs work on the store of a definition. The definition, an index that it refers to, or the request can name the
 * store.
 * @throws Refusal VALIDATION_FAILED if they name several stores, and the refusals of `StoreMarkets.of`
 */
export async function runOnStoreOf<T>(
  { documents, stores }: StoreToRunOn,
  definition: Body | IndexDocument,
  work: () => Promise<T>,
): Promise<T> {
  return stores.within(await findReferencedStore(documents, definition, getCallMarket()?.identity.datasetId), work);
}

/**
 * Returns the data store of a definition: its own, or that of an index to which it refers. Returns null for the active
 * store.
 * @param storeId store in the request
 * @throws Refusal VALIDATION_FAILED if they name several stores
 */
export async function findReferencedStore(
  reader: Pick<DocumentReader, 'get'>,
  definition: Body | IndexDocument,
  storeId?: string,
): Promise<string | null> {
  return findStore(await readDocuments(reader, definition as Body), storeId);
}

/** Returns the market on which a definition is checked, and findings about the definition's store. */
export async function findCheckMarket(
  { documents, stores, markets }: StoreSources,
  definition: Body,
): Promise<{ readonly market: MarketData | undefined; readonly findings: readonly Finding[] }> {
  const namedDocuments = await readDocuments(documents, definition);
  const findings = checkStores(namedDocuments);
  if (findings.length > 0) return { market: undefined, findings };
  const storeId = findStore(namedDocuments, null);
  if (storeId === null) return { market: markets.current()?.market, findings };
  try {
    return { market: (await stores.of(storeId)).market, findings };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    const isNew = definition['store_id'] === storeId && (await findOwnStore(documents, definition)) !== storeId;
    const accepted = isNew ? await documents.ids('store') : null;
    return { market: undefined, findings: [createUnreadStoreFinding(storeId, refusal, accepted)] };
  }
}

/**
 * Returns the market of a definition if it is the market of the current call. Returns undefined if the definition has
 * another store or several stores.
 */
export async function findCurrentMarket(
  { documents, markets }: Pick<StoreSources, 'markets'> & { readonly documents: Pick<DocumentReader, 'get'> },
  definition: Body | IndexDocument,
): Promise<MarketData | undefined> {
  const namedDocuments = await readDocuments(documents, definition as Body);
  if (checkStores(namedDocuments).length > 0) return undefined;
  const storeId = findStore(namedDocuments);
  const market = markets.current()?.market;
  return storeId === null || storeId === market?.datasetId ? market : undefined;
}

/** Returns the store that the stored definition with the id of a definition names. */
async function findOwnStore(reader: Pick<DocumentReader, 'get'>, { id }: Body): Promise<string | null> {
  return typeof id === 'string' ? ((await findIndex(reader, id))?.store_id ?? null) : null;
}

/** @param acceptedIds ids of the registered stores; null if the store of a stored definition is only a warning */
function createUnreadStoreFinding(
  storeId: string,
  { code, message }: Refusal,
  acceptedIds: readonly string[] | null,
): Finding {
  const subject = { path: 'store_id', value: storeId };
  if (code === 'STORE_NOT_FOUND')
    return acceptedIds === null
      ? createGoneStoreProblem(storeId, 'warning')
      : { severity: 'error', code: 'NOT_IN_CHOICES', message, accepted: acceptedIds, ...subject };
  const warningText = `The data store ${storeId} cannot be read now, so the definition was not checked on it: ${message}`;
  return { severity: 'warning', code: 'UNREADABLE_FILE', message: warningText, ...subject };
}

/** Reports that the store of a stored definition is not registered any more. */
export const createGoneStoreProblem = (storeId: string, severity: Finding['severity']): Finding => ({
  severity,
  code: 'NOT_IN_CHOICES',
  path: 'store_id',
  message: `No data store is registered under the id ${storeId}, so the index cannot be computed.`,
  value: storeId,
});

/** Returns a definition and every index that it refers to. An index that is missing is reported elsewhere. */
async function readDocuments(
  reader: Pick<DocumentReader, 'get'>,
  definition: Body,
): Promise<Record<string, IndexDocument>> {
  const definedIndex = readIndex(definition);
  const { id, store_id: storeId } = definition;
  if (definedIndex === undefined) {
    const read = Id.safeParse(storeId).data; // the shape check reports any other value
    const storeReference = read === undefined ? undefined : { id: String(id), store_id: read };
    return storeReference === undefined ? {} : { [storeReference.id]: storeReference as IndexDocument }; // only the store of the document is read
  }
  const read = hasValidTexts(definedIndex) ? definedIndex : { ...definedIndex, amendments: [] }; // the checks report an invalid amendment
  const { documents } = await reachDocuments(reader, read);
  return Object.fromEntries(documents.map((document) => [document.id, document]));
}
