import type { IndexDocument } from '#domain/documents/index-document.js';
import { WatchlistDocument } from '#domain/documents/watchlist-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { DocumentReader } from '#store/port.js';

type Reader = Pick<DocumentReader, 'get'>;

/**
 * A definition as it is computed: the names of its watchlist stand in its universe, so that a run
 * whose watchlist has changed is stale, as one whose definition has changed.
 * @throws Refusal VALIDATION_FAILED when the watchlist is gone or cannot be read
 */
export async function withWatchlist(reader: Reader, document: IndexDocument): Promise<IndexDocument> {
  const found = await watchlistOf(reader, document);
  if (found === undefined) return document;
  if ('finding' in found) throw refuseWithFindings('index document', [found.finding]);
  return { ...document, universe: { ...document.universe!, identifiers: found.identifiers } };
}

/** A definition as it is stored: the names that a client sends back with a watchlist are not its own. */
export function withoutWatchlist(document: IndexDocument): IndexDocument {
  const { universe } = document;
  if (universe?.kind !== 'watchlist') return document;
  return { ...document, universe: { kind: 'watchlist', watchlist_id: universe.watchlist_id } };
}

/** Errors about the watchlist of a definition that is to be stored. */
export async function unknownWatchlists(reader: Reader, document: IndexDocument): Promise<Finding[]> {
  const found = await watchlistOf(reader, document);
  return found !== undefined && 'finding' in found ? [found.finding] : [];
}

/** Undefined where the universe is none of a watchlist. */
async function watchlistOf(
  reader: Reader,
  { universe }: IndexDocument,
): Promise<{ readonly identifiers: string[] } | { readonly finding: Finding } | undefined> {
  if (universe?.kind !== 'watchlist') return undefined;
  const id = universe.watchlist_id ?? '';
  const stored = await reader.get('watchlist', id);
  const body = stored === undefined || 'unreadable' in stored ? undefined : WatchlistDocument.safeParse(stored.body);
  if (body?.success === true) return { identifiers: body.data.identifiers };
  return {
    finding: {
      severity: 'error',
      code: 'WATCHLIST_NOT_FOUND',
      path: 'universe.watchlist_id',
      message: `No watchlist is stored under ${id}${stored === undefined ? '' : ' that can be read'}.`,
      value: id,
    },
  };
}
