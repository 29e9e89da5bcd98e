import { removeComputedParts } from '#domain/checks/fill-plugins.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { DocumentReader } from '#store/port.js';
import { readRecordedClosures } from '../stored/recorded-closures.js';
import { fillStoredPlugins } from './filled-plugins.js';
import { findUnknownWatchlists, removeWatchlist, resolveWatchlist } from './watchlist-universes.js';

type Reader = Pick<DocumentReader, 'get'>;

/**
 * Returns a definition in the form that is computed. It contains the securities of its watchlists, the code of its
 * plug-ins and the recorded changes of calendars. A change of any of these makes a run stale.
 * @throws Refusal VALIDATION_FAILED if a watchlist or plug-in was deleted or is unreadable
 */
export async function addStoredParts(reader: Reader, document: IndexDocument): Promise<IndexDocument> {
  const { document: filledDocument, findings } = await fillStoredPlugins(reader, document);
  if (findings.length > 0) throw refuseWithFindings('index document', findings);
  const { closures: _, ...whole } = await resolveWatchlist(reader, filledDocument);
  const closures = await readRecordedClosures(reader);
  return closures === undefined ? whole : { ...whole, closures };
}

/** Removes the parts that `addStoredParts` added to a definition. */
export const removeStoredParts = (document: IndexDocument): IndexDocument =>
  removeComputedParts(removeWatchlist(document));

/** Returns a definition with the code of its plug-ins, and the errors about its watchlists and plug-ins. */
export async function checkStoredParts(reader: Reader, document: IndexDocument) {
  const { document: filledDocument, findings } = await fillStoredPlugins(reader, document);
  return { filled: filledDocument, findings: [...(await findUnknownWatchlists(reader, document)), ...findings] };
}
