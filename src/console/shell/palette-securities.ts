import type { DataStore, IdentifierSearch } from '#clients/typescript/divisor.js';
import { useResource } from '../state/resource.js';
import { service } from '../state/service.js';
import { formatSecurityAddress } from '../words/addresses.js';
import type { Target } from '../words/search.js';

/** Minimum number of letters for which securities are searched. */
const LETTERS_MIN = 2;
/**
 * Number of securities of the served store from which other stores are not searched. A search loads a store that is not
 * in memory, and the stores that are not served share the memory of one store.
 */
const ENOUGH = 3;
/** Maximum number of other stores that are searched. Each is one request for a typed text. */
const STORES_MAX = 8;

/**
 * Returns the securities that match a text. If the served store has few, those of other stores follow, with the name of
 * their store.
 * @param text typed text in lower case
 * @param limit maximum number of securities of a store
 */
export function useSecurityTargets(text: string, stores: readonly DataStore[], limit: number): readonly Target[] {
  const search = (signal: AbortSignal, storeId?: string) =>
    service.value.call('searchIdentifiers', {
      query: { q: text, limit, ...(storeId === undefined ? {} : { store_id: storeId }) },
      signal,
    });
  const served = useResource(
    text.length < LETTERS_MIN ? null : `palette names ${text}`,
    async (signal) => ({ text, identifiers: (await search(signal)).identifiers }),
    { follows: false },
  );
  const otherStores = stores
    .filter(({ active, status, identifiers }) => !active && status === 'ready' && identifiers !== null)
    .slice(0, STORES_MAX);
  // For one render after a change of the text, the securities are those of the previous text. Without a served store,
  // the search fails.
  const isFew =
    served.data === undefined
      ? served.trouble !== null
      : served.data.text === text && served.data.identifiers.length < ENOUGH;
  const others = useResource(
    isFew && otherStores.length > 0 ? `palette names of other stores ${text}` : null,
    async (signal) => {
      const found = otherStores.map(async ({ store_id: storeId, name: storeName }) => {
        const answer = await search(signal, storeId).catch(() => null); // the other stores may be readable
        return (answer?.identifiers ?? []).map((security) => createTarget(security, { storeId, storeName }));
      });
      return (await Promise.all(found)).flat();
    },
    { follows: false },
  );
  return [...(served.data?.identifiers ?? []).map((security) => createTarget(security)), ...(others.data ?? [])];
}

/** Creates the search result for a security, for example `VAJM Vajm Foods, in Tokyo`. */
function createTarget(
  { identifier, name }: IdentifierSearch['identifiers'][number],
  store?: { readonly storeId: string; readonly storeName: string },
): Target {
  const place = store === undefined ? '' : `, in ${store.storeName}`;
  return {
    address: formatSecurityAddress(identifier, store?.storeId),
    ...(name === null ? { text: identifier + place } : { text: identifier, name: name + place }),
    kind: 'security',
  };
}
