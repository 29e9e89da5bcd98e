import type { Watchlist, WatchlistCollection, WatchlistUpsert } from '#contract/watchlists.js';
import type { Finding } from '#domain/base/findings.js';
import { refuseWithFindings } from '#domain/base/refusals.js';
import {
  type IndexDocument,
  listWatchlists,
  type UniverseSpec,
  WatchlistDocument,
} from '#domain/definition/index-document.js';
import type { Authorship } from '#domain/definition/versions.js';
import { getLookup } from '#market/serve/served-markets.js';
import { type DocumentReader, parseStored } from '#store/port.js';
import type { Context } from '../shared/context.js';
import { openStoredFamily, type PageQuery, type Precondition } from '../shared/documents.js';

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
export function createWatchlists({ documents, markets }: Context): Watchlists {
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
      const { items: watchlists, ...skipped } = await family.page(query, async (id, { document, updatedAt }) =>
        createView(id, document, updatedAt),
      );
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

type Reader = Pick<DocumentReader, 'get'>;

/**
 * Adds the securities of a watchlist to the universe of a definition. A changed watchlist then makes a run stale, like
 * a changed definition.
 * @throws Refusal VALIDATION_FAILED if the watchlist was deleted or is unreadable
 */
export async function resolveWatchlist(reader: Reader, document: IndexDocument): Promise<IndexDocument> {
  const { universe } = document;
  if (listWatchlists(universe).length === 0) return document;
  const { filled, findings } = await resolveWatchlists(reader, universe!, 'universe'); // the universe names a watchlist
  if (findings.length > 0) throw refuseWithFindings('index document', findings);
  return { ...document, universe: filled };
}

/**
 * Returns a definition in the stored form. If a client sends a watchlist together with its securities, the securities
 * are removed.
 */
export function removeWatchlist(document: IndexDocument): IndexDocument {
  const { universe } = document;
  // the universe names a watchlist
  return listWatchlists(universe).length === 0 ? document : { ...document, universe: clearWatchlist(universe!) };
}

function clearWatchlist(universe: UniverseSpec): UniverseSpec {
  if (universe.kind === 'watchlist') return { kind: 'watchlist', watchlist_id: universe.watchlist_id };
  return universe.of === undefined ? universe : { ...universe, of: universe.of.map(clearWatchlist) };
}

/** Returns the errors about the watchlists of a definition. Called before the definition is stored. */
export async function findUnknownWatchlists(reader: Reader, { universe }: IndexDocument): Promise<readonly Finding[]> {
  // the universe names a watchlist
  return listWatchlists(universe).length === 0 ? [] : (await resolveWatchlists(reader, universe!, 'universe')).findings;
}

interface FilledUniverse {
  readonly filled: UniverseSpec;
  readonly findings: readonly Finding[];
}

/** Returns a universe with the securities of its watchlists, and a finding for each watchlist that is not stored. */
async function resolveWatchlists(reader: Reader, universe: UniverseSpec, path: string): Promise<FilledUniverse> {
  if (universe.kind === 'watchlist') {
    const result = await readWatchlist(reader, universe, path);
    return 'finding' in result
      ? { filled: universe, findings: [result.finding] }
      : { filled: { ...universe, identifiers: result.identifiers }, findings: [] };
  }
  if (universe.of === undefined) return { filled: universe, findings: [] };
  const parts = await Promise.all(universe.of.map((part, i) => resolveWatchlists(reader, part, `${path}.of[${i}]`)));
  return {
    filled: { ...universe, of: parts.map(({ filled }) => filled) },
    findings: parts.flatMap(({ findings }) => findings),
  };
}

async function readWatchlist(
  reader: Reader,
  universe: UniverseSpec,
  path: string,
): Promise<{ readonly identifiers: string[] } | { readonly finding: Finding }> {
  const id = universe.watchlist_id ?? '';
  const storedDocument = await reader.get('watchlist', id);
  const watchlist = parseStored(storedDocument, WatchlistDocument);
  if (watchlist !== undefined) return { identifiers: watchlist.identifiers };
  return {
    finding: {
      severity: 'error',
      code: 'WATCHLIST_NOT_FOUND',
      path: `${path}.watchlist_id`,
      message:
        storedDocument === undefined
          ? `No watchlist is stored under the id ${id}.`
          : `The watchlist ${id} cannot be read.`,
      value: id,
    },
  };
}
