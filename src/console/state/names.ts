import type { ReferenceEntry } from '#clients/typescript/divisor.js';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { useResource } from './resource.js';
import { service } from './service.js';

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
  const key = identifiers.length === 0 ? null : `names ${store} ${asOf} ${identifiers.length} ${identifiers.join(',')}`;
  const facts = useResource(key, (signal) => readFacts(identifiers, { as_of: asOf, store_id: store }, signal), {
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
