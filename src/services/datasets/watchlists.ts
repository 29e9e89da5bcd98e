import type { Watchlist, WatchlistCollection, WatchlistUpsert } from '#contract/watchlists.js';
import { WatchlistDocument } from '#domain/documents/watchlist-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { lookupOf } from '#market/serving/market-lookup.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentStore, DocumentTransaction, StoredDocument } from '#store/port.js';
import { assertPrecondition, type Precondition } from '../shared/preconditions.js';

export interface WatchlistsDependencies {
  readonly documents: DocumentStore;
  readonly markets: Markets;
}

export interface StoredWatchlist {
  readonly watchlist: Watchlist;
  readonly etag: string;
}

export interface Watchlists {
  list(query: {
    readonly limit?: number | undefined;
    readonly after?: string | undefined;
  }): Promise<WatchlistCollection>;
  /** @throws Refusal WATCHLIST_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(id: string): Promise<StoredWatchlist>;
  /** Creates or replaces. @throws Refusal PRECONDITION_FAILED */
  put(id: string, body: WatchlistUpsert, ifMatch: Precondition | undefined, by?: Authorship): Promise<StoredWatchlist>;
  /** @throws Refusal WATCHLIST_NOT_FOUND, PRECONDITION_FAILED */
  remove(id: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

/** Lists of names that a person follows. They are documents of their own and outlive the store they were made on. */
export function createWatchlists({ documents, markets }: WatchlistsDependencies): Watchlists {
  function viewOf(id: string, { name, description, identifiers }: WatchlistDocument, updatedAt: string): Watchlist {
    const market = markets.current()?.market;
    const lookup = market === undefined ? undefined : lookupOf(market);
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
    const stored = await documents.get('watchlist', id);
    if (stored === undefined) throw notFound(id);
    const document = 'unreadable' in stored ? undefined : readWatchlist(stored.body);
    if (document === undefined)
      throw new Refusal('DOCUMENT_UNREADABLE', `The watchlist ${id} cannot be read; it can still be deleted.`);
    const { etag, updatedAt } = stored as StoredDocument; // readable, as its document was
    return { watchlist: viewOf(id, document, updatedAt), etag };
  }

  return {
    get,
    async list({ limit, after }) {
      const ids = new Set((await documents.ids('watchlist')).filter((id) => after === undefined || id > after));
      const {
        documents: all,
        skipped,
        skipped_causes,
      } = await documents.list('watchlist', (body, id) => {
        const document = readWatchlist(body);
        return document && { id, document };
      });
      const page = all.filter(({ id }) => ids.has(id)).slice(0, limit);
      const watchlists = await Promise.all(page.map(async ({ id }) => (await get(id)).watchlist));
      return { watchlists, skipped, skipped_causes };
    },
    async put(id, { name, description, identifiers }, ifMatch, by) {
      markets.current(); // refuses before anything is written
      const document: WatchlistDocument = { name, description, identifiers: [...new Set(identifiers)] };
      const write = async (tx: DocumentTransaction): Promise<void> => {
        await assertPrecondition(tx, 'watchlist', id, ifMatch);
        await tx.put('watchlist', id, document);
      };
      await documents.transaction(write, { by });
      return get(id);
    },
    async remove(id, ifMatch, by) {
      if ((await documents.get('watchlist', id)) === undefined) throw notFound(id);
      const forget = async (tx: DocumentTransaction): Promise<void> => {
        await assertPrecondition(tx, 'watchlist', id, ifMatch);
        await tx.delete('watchlist', id);
      };
      await documents.transaction(forget, { by });
    },
  };
}

function readWatchlist(body: unknown): WatchlistDocument | undefined {
  const parsed = WatchlistDocument.safeParse(body);
  return parsed.success ? parsed.data : undefined;
}

const notFound = (id: string) => new Refusal('WATCHLIST_NOT_FOUND', `No watchlist is stored under the id ${id}.`);
