import { listWatchlists, type IndexDocument, type UniverseSpec } from '#domain/documents/index-document.js';
import { WatchlistDocument } from '#domain/documents/watchlist-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { DocumentReader } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';

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
