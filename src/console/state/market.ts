import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { OverviewView, ReferenceEntry } from '#clients/typescript/divisor.js';
import { createPlainSentence } from '../words/methodology.js';
import type { Json, JsonObject } from '../words/paths.js';
import { service, useAnswer, useList, useResource } from './service.js';

/** Returns the calendars, sorted by code. Returns none until they are loaded. */
export function useCalendars() {
  const calendars = useList('calendars', {
    follows: false,
  });
  return calendars.data?.calendars ?? [];
}

/** Returns the names of the exchanges by calendar code, sorted by code. */
export const useExchanges = (): ReadonlyMap<string, string> =>
  new Map(useCalendars().map(({ code, name }) => [code, name]));

/**
 * Reads the fields of a data store.
 * @param store null for the served store
 */
export const useFields = (store: string | null) =>
  useAnswer('listFields', { query: store === null ? {} : { store_id: store } });

export const useFieldsOfRun = ({ store_id: store }: Pick<OverviewView, 'store_id'>) => useFields(store);

/**
 * Returns the data store of a definition: its own, or that of an index to which it refers. Returns null for the served
 * store, and undefined until it is known.
 * @param definition definition of an index; undefined until it is known
 */
export function useIndexStore(definition: object | undefined): string | null | undefined {
  const document = definition as JsonObject | undefined; // definitions are plain JSON
  const ownStore = document?.['store_id'];
  const hasStore = typeof ownStore === 'string' && ownStore !== '';
  const references = document === undefined || hasStore ? [] : listNamedIndices(document);
  const indices = useAnswer('listIndices', references.length === 0 ? null : {});
  if (document === undefined) return undefined;
  if (hasStore) return ownStore;
  if (references.length > 0 && indices.data === undefined && indices.trouble === null) return undefined;
  return (
    indices.data?.indices.find(({ id, store_id: store }) => store !== null && references.includes(id))?.store_id ?? null
  );
}

/** Functions of expressions that refer to an index, as in `weight_in("CORE")`. */
const CALL = /\b(?:member_of|weight_in|drifted_weight_in)\(\s*"([^"]+)"/g;
const CALLED_NAMES: ReadonlySet<unknown> = new Set(['member_of', 'weight_in', 'drifted_weight_in']);

function listNamedIndices(value: Json): readonly string[] {
  if (typeof value === 'string') return Array.from(value.matchAll(CALL), ([, id]) => id!);
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(listNamedIndices);
  const { kind, id, name, operands } = value as JsonObject;
  const [operand] = Array.isArray(operands) ? operands : [];
  return [
    ...(kind === 'index' && typeof id === 'string' ? [id] : []),
    ...(CALLED_NAMES.has(name) && isText(operand) ? [operand.value] : []),
    ...Object.entries(value).flatMap(([member, own]) =>
      INDEX_MEMBERS.has(member) && typeof own === 'string' ? [own] : listNamedIndices(own ?? null),
    ),
  ];
}

const INDEX_MEMBERS: ReadonlySet<string> = new Set(['source_index_id', 'index_id']);

const isText = (operand: Json | undefined): operand is { readonly value: string } =>
  typeof operand === 'object' && operand !== null && 'value' in operand && typeof operand.value === 'string';

/** Reference data shown next to the identifier of a security. */
export interface NameFacts {
  readonly name: string | null;
  readonly sector: string | null;
  readonly country: string | null;
  /** Currency of the prices. */
  readonly currency: string | null;
}

/** Maximum number of identifiers in one request. The address then stays below about 8 KB. */
const AT_ONCE = 400;
const FIELDS = ['NAME', 'SECTOR', 'COUNTRY', 'CURRENCY'];

/** Data store of the displayed run; null for the served store. */
export const NamesStore = createContext<string | null>(null);

/** Reference data while it is loading. */
export const PENDING_NAMES: ReadonlyMap<string, NameFacts> = new Map();

/** Returns true for the identifier of cash, for example `CASH/USD`. */
export const isCash = (identifier: string): boolean => identifier.startsWith('CASH/');

/**
 * Reads reference data of securities from a store. Default: the store of the displayed run. Securities that are unknown are left out; values that are missing are null.
 * Returns `PENDING_NAMES` while the data is loading.
 */
export function useNames(
  identifiers: readonly string[],
  asOf: string | undefined,
  ofStore?: string,
): ReadonlyMap<string, NameFacts> {
  const runStore = useContext(NamesStore) ?? undefined;
  const store = ofStore ?? runStore;
  const securities = identifiers.filter((identifier) => !isCash(identifier));
  const key = securities.length === 0 ? null : `names ${store} ${asOf} ${securities.length} ${securities.join(',')}`;
  const facts = useResource(key, (signal) => readFacts(securities, { as_of: asOf, store_id: store }, signal), {
    keeps: true,
  });
  return facts.data ?? (key === null || facts.trouble !== null ? new Map() : PENDING_NAMES);
}

async function readFacts(
  identifiers: readonly string[],
  { store_id: store, as_of: asOf }: { readonly store_id: string | undefined; readonly as_of: string | undefined },
  signal: AbortSignal,
): Promise<ReadonlyMap<string, NameFacts>> {
  const source = await service.value.call('getAssetReference', {
    params: { identifier: identifiers[0]! },
    query: { store_id: store },
    signal,
  });
  const fields = FIELDS.filter((field) => field in source.fields);
  const parts = Array.from({ length: Math.ceil(identifiers.length / AT_ONCE) }, (_, k) =>
    identifiers.slice(k * AT_ONCE, (k + 1) * AT_ONCE),
  );
  const answers = await Promise.all(
    parts.map((part) =>
      service.value.call('getAssetReferences', {
        query: { identifiers: part, fields, as_of: asOf, store_id: store },
        signal,
      }),
    ),
  );
  return new Map(answers.flatMap(({ entries }) => entries.map((entry) => [entry.identifier, toFacts(entry)] as const)));
}

function toFacts({ fields }: ReferenceEntry): NameFacts {
  const findText = (name: string) => {
    const value = fields[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  return {
    name: findText('NAME'),
    sector: findText('SECTOR'),
    country: findText('COUNTRY'),
    currency: findText('CURRENCY'),
  };
}

/** Returns a function that replaces column names and calendar codes in a sentence with words. */
export function usePlainSentences(): (sentence: string) => string {
  const exchanges = useExchanges();
  const fields = new Set(useFields(null).data?.fields.map(({ name }) => name));
  return (sentence) =>
    createPlainSentence(sentence, fields, exchanges)
      .parts.map(({ text }) => text)
      .join('');
}
