/**
 * Name of the marker file. It is the only file in an artifact store that is not an artifact. It records the id of the
 * store and the database that owns the store.
 */
export const MARKER = 'divisor-store.json';

/** Identity of a PostgreSQL database. */
export interface DatabaseIdentity {
  /**
   * System identifier of the database server. Physical copies of the server have the same one. It is null if the role
   * may not read it.
   */
  readonly system: string | null;
  readonly database: string;
}

/** Database that owns an artifact store. */
export interface StoreOwner extends DatabaseIdentity {
  /**
   * Random token that is renewed in the artifact store and in the database. A copy of the database then has an outdated
   * token.
   */
  readonly token: string;
}

/** Content of a marker. */
export interface StoreMark {
  readonly storeId: string;
  /** Absent in artifact stores of version 0.2.0. */
  readonly owner?: StoreOwner | undefined;
}

export const formatMarker = ({ storeId, owner }: StoreMark): string =>
  JSON.stringify({ format: 1, store_id: storeId, ...(owner && { owner }) });

/** Returns the id in the text of a marker file. Returns `unreadable` if the text has none. */
export const parseStoreId = (text: string): string => /"store_id":"([\w-]{1,64})"/.exec(text)?.[1] ?? 'unreadable';

export function parseMark(text: string): StoreMark {
  return { storeId: parseStoreId(text), owner: findOwner(text) };
}

function findOwner(text: string): StoreOwner | undefined {
  let marker: { readonly owner?: Partial<StoreOwner> };
  try {
    marker = JSON.parse(text) as typeof marker; // each member is checked below
  } catch {
    return undefined;
  }
  const { system, database, token } = marker.owner ?? {};
  if (typeof token !== 'string' || typeof database !== 'string') return undefined;
  return { system: typeof system === 'string' ? system : null, database, token };
}
