import type { Watchlist, WatchlistCollection, WatchlistUpsert } from '#contract/watchlists.js';
import { WatchlistDocument } from '#domain/documents/watchlist-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { getLookup } from '#market/serving/market-lookup.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentStore } from '#store/port.js';
import type { Precondition } from '../shared/preconditions.js';
import { openStoredFamily, type PageQuery } from '../shared/stored-family.js';

export interface WatchlistsDependencies {
  readonly documents: DocumentStore;
  readonly markets: Markets;
}

export interface StoredWatchlist {
  readonly watchlist: Watchlist;
  readonly etag: string;
}

export interface Watchlists {
  list(query: PageQuery): Promise<WatchlistCollection>;
  /** Returns a watchlist. @throws Refusal WATCHLIST_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(id: string): Promise<StoredWatchlist>;
  /** Creates or replaces a watchlist. @throws Refusal PRECONDITION_FAILED */
  put(id: string, body: WatchlistUpsert, ifMatch: Precondition | undefined, by?: Authorship): Promise<StoredWatchlist>;
  /** Deletes a watchlist. @throws Refusal WATCHLIST_NOT_FOUND, PRECONDITION_FAILED */
  remove(id: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

/**
 * Creates the service for watchlists. A watchlist is a list of securities that a person follows. It is a separate
 * document and remains when another store is served.
 */
export function createWatchlists({ documents, markets }: WatchlistsDependencies): Watchlists {
  const family = openStoredFamily(documents, {
    kind: 'watchlist',
    word: 'watchlist',
    read: (body) => WatchlistDocument.safeParse(body).data,
  });

  function createView(id: string, { name, description, identifiers }: WatchlistDocument, updatedAt: string): Watchlist {
    const market = markets.current()?.market;
    const lookup = market === undefined ? undefined : getLookup(market);
    return {
      watchlist_id: id,
      name,
      description,
      identifiers,
      updated_at: updatedAt,
      unknown: identifiers.filter((identifier) => lookup?.holds(identifier) !== true),
    };
  }

  async function get(id: string): Promise<StoredWatchlist> {
    const { document, etag, updatedAt } = await family.get(id);
    return { watchlist: createView(id, document, updatedAt), etag };
  }

  return {
    get,
    async list(query) {
      const { items: watchlists, ...skipped } = await family.page(query, async (id) => (await get(id)).watchlist);
      return { watchlists, ...skipped };
    },
    async put(id, { name, description, identifiers }, ifMatch, authorship) {
      markets.current(); // throws before anything is written
      const document: WatchlistDocument = { name, description, identifiers: [...new Set(identifiers)] };
      await family.put(id, document, ifMatch, authorship);
      return get(id);
    },
    remove: family.remove,
  };
}
