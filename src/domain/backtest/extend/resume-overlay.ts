import { isOverlayDocument, sourcesOf } from '../../documents/index-document.js';
import type { ReturnVariant } from '../../market/market-data.js';
import { overlayTypeOf } from '../../overlays/catalogue.js';
import type { OverlayPath } from '../../overlays/overlay-type.js';
import type { Book, BookOverlay } from '../simulate/book.js';
import type { Composition } from '../simulate/compositions.js';
import { overlayContext, sharesIn } from '../simulate/overlay-context.js';
import { pathBook } from '../simulate/overlay-book.js';
import { heldVariant } from '../simulate/index-run.js';
import { heldCompositions } from '../simulate/overlay-compositions.js';
import type { StoredBook } from '../simulate/resumed-book.js';
import type { IndexContinuation } from './continuation.js';
import type { MarketView } from './market-view.js';
import { grossAfter, isStoredOverlay, sharesAfter, type StoredLayer, type StoredOverlay } from './overlay-state.js';
import { CannotResume } from './reasons.js';
import { resumeBook } from './resume-books.js';

interface ResumedOverlay {
  readonly indexId: string;
  readonly stored: StoredBook | StoredOverlay;
  /** Another return variant than its own; only its levels are needed. */
  readonly variant?: ReturnVariant;
  /** The same index in its own variant, where that is another. */
  readonly own?: IndexContinuation;
}

/** An index, or an overlay with what lies beneath it, over the new sessions. @throws CannotResume */
export function resumeIndexOrOverlay(
  seen: MarketView,
  { indexId, stored, variant, own }: ResumedOverlay,
): IndexContinuation {
  const context = { ...seen.contextOf(indexId), ...seen.spanOf(indexId) };
  if (!isStoredOverlay(stored)) {
    const index = { ...context, ...seen.decided(indexId) };
    return { ...index, book: resumeBook(index, { stored, ...(variant ? { variant } : {}) }) };
  }
  const { document } = context;
  if (!isOverlayDocument(document)) throw new Error(`${indexId} is no overlay, and was stored as one`);
  const beneath = sourcesOf(document).map((id, k) =>
    resumeIndexOrOverlay(seen, {
      indexId: id,
      stored: stored.beneath[k]!.of,
      ...(variant ? { variant } : {}),
      ...(own ? { own: own.beneath![k]! } : {}), // Of the same overlay.
    }),
  );
  // Of several indices the order of findings is theirs, not that of the days; orders that wait are not followed.
  const findings = beneath.flatMap((source) => source.findings);
  const waits = beneath.some(({ book }) => book.unfilled.length > 0);
  // A part in another return than its own is simulated with its weights, of which nothing is stored.
  const differs = beneath.some((source) => heldVariant(context, source) !== undefined);
  if ((beneath.length > 1 && findings.length > 0) || waits || differs) throw new CannotResume('overlay');
  const ownShares = own?.book.overlay?.shares;
  const book = overlayAfter(stored, { ...context, document, beneath, isBrief: variant !== undefined, ownShares });
  const composed = compositionsAfter(book, beneath);
  return { ...context, book, beneath, findings, composed };
}

interface OverlaySpan extends Omit<IndexContinuation, 'book' | 'composed' | 'findings'> {
  readonly beneath: readonly IndexContinuation[];
  readonly isBrief: boolean;
  /** Weights by currency over all sessions, where the index's own variant has them. */
  readonly ownShares: BookOverlay['shares'] | undefined;
}

/** The book over the new sessions, from a path over all of them. */
function overlayAfter(stored: StoredOverlay, span: OverlaySpan): Book {
  const { document, sm, from, to, beneath, isBrief } = span;
  if (!isOverlayDocument(document)) throw new Error(`${document.id} is no overlay`);
  const { first, level, hasCurrencyPart } = stored;
  const grown = stored.beneath.map((layer: StoredLayer, k) => ({
    from: layer.first,
    gross: grossAfter(layer, beneath[k]!.book),
  }));
  const { currency } = beneath[0]!.document;
  const type = overlayTypeOf(document.overlay);
  const books = beneath.map(({ book }) => book);
  const weighed = { book: books[0]!, currency, codes: type.weighed(document.overlay), first: from, to };
  const shares = span.ownShares ?? sharesAfter(stored, sharesIn(weighed));
  const context = overlayContext({ sm, first, document, currency }, { beneath: grown, shares, to });
  const path = pathFrom(type.path(document.overlay, context), from - first);
  const book = pathBook({
    path,
    beneath: books,
    shares,
    sm,
    from,
    level,
    isBrief,
    indexId: document.id,
    resumed: { hasCurrencyPart },
  });
  if (book.overlay!.hasCurrencyPart !== hasCurrencyPart) throw new CannotResume('overlay');
  return book;
}

/** A path from a session on. */
function pathFrom({ growth, exposures, exchange, parts, resets }: OverlayPath, at: number): OverlayPath {
  return {
    growth: growth.slice(at),
    exposures: exposures.map((exposure) => exposure.slice(at)),
    exchange: exchange && exchange.slice(at),
    parts: parts.map(({ part, contributions }) => ({ part, contributions: contributions.slice(at) })),
    resets: resets && resets.slice(at),
  };
}

/** What it holds wherever an index beneath takes a composition on the new sessions. */
function compositionsAfter(book: Book, beneath: readonly IndexContinuation[]): Composition[] {
  return heldCompositions(
    book,
    beneath.map(({ composed }) => composed),
    null,
  );
}
