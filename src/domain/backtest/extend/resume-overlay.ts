import { isOverlayDocument, listSources } from '../../documents/index-document.js';
import type { ReturnVariant } from '../../market/market-data.js';
import { findOverlayType } from '../../overlays/catalogue.js';
import type { OverlayPath } from '../../overlays/overlay-type.js';
import { findLastAtMost } from '../../numbers/search.js';
import type { Book, BookOverlay } from '../../books/book.js';
import { alignBook, alignComposition } from '../../books/book-on-sessions.js';
import type { Composition } from '../../books/compositions.js';
import { readShares } from '../../books/overlay-context.js';
import { computeOverlayPath } from '../../books/overlay-path.js';
import { createPathBook, findValuationCurrency } from '../../books/overlay-book.js';
import { findHeldLevel } from '../../books/index-run.js';
import { listHeldCompositions } from '../../books/overlay-compositions.js';
import type { StoredBook } from '../../books/resumed-book.js';
import type { IndexContinuation } from './continuation.js';
import type { MarketView } from './market-view.js';
import {
  joinGross,
  isStoredOverlay,
  selectOrdersBefore,
  appendShares,
  type StoredLayer,
  type StoredOverlay,
} from './overlay-state.js';
import { CannotResumeError } from '../../documents/full-run-reasons.js';
import { resumeBook } from './resume-books.js';

interface ResumedOverlay {
  readonly indexId: string;
  readonly stored: StoredBook | StoredOverlay;
  /** Return variant. Default: that of the index. */
  readonly variant?: ReturnVariant | undefined;
  /** True to compute only levels. */
  readonly isBrief?: boolean;
  /**
   * Continuation of the index in its native return variant. Present only if `variant` is another return variant of the
   * overlay.
   */
  readonly own?: IndexContinuation;
  /** Simulated overlay that holds the index; absent for a standalone index. */
  readonly above?: Pick<IndexContinuation, 'sm' | 'from' | 'to'>;
}

/**
 * Resumes an index, or an overlay with its underlying indices, over the new sessions.
 * @throws CannotResumeError
 */
export function resumeIndexOrOverlay(
  marketView: MarketView,
  { indexId, stored, variant, isBrief = false, own, above }: ResumedOverlay,
): IndexContinuation {
  const context = { ...marketView.contextOf(indexId), ...marketView.spanOf(indexId) };
  const span = above === undefined ? context : { ...context, ...computeUnderlyingSpan(context, above) };
  if (!isStoredOverlay(stored)) {
    const index = { ...span, ...marketView.decided(indexId) };
    return { ...index, book: resumeBook(index, { stored, isBrief, ...(variant ? { variant } : {}) }) };
  }
  const { document } = context;
  if (!isOverlayDocument(document)) throw new Error(`${indexId} is not an overlay but was stored as one`);
  const continuations = listSources(document).map((id, k) =>
    resumeIndexOrOverlay(marketView, {
      indexId: id,
      stored: stored.beneath[k]!.of,
      variant: variant ?? findHeldLevel(context, marketView.contextOf(id)),
      isBrief,
      above: span,
      ...(own ? { own: own.beneath![k]! } : {}), // `own` continues the same overlay, with the same order of underlying indices.
    }),
  );
  const findings = continuations.flatMap((source) => source.findings);
  const isOther = variant !== undefined;
  const book = resumeOverlayBook(stored, {
    ...span,
    document,
    beneath: continuations,
    isBrief,
    isOther,
    ownShares: own?.book.overlay?.shares,
  });
  return { ...span, book, beneath: continuations, findings, composed: listNewCompositions(book, continuations) };
}

/**
 * Returns the new sessions of an underlying index, up to the last session of the overlay.
 * @throws CannotResumeError if the index and the overlay were last simulated on different sessions
 */
function computeUnderlyingSpan(
  { sm, from }: Pick<IndexContinuation, 'sm' | 'from'>,
  above: Pick<IndexContinuation, 'sm' | 'from' | 'to'>,
): Pick<IndexContinuation, 'from' | 'to'> {
  const findSession = (session: number): number => findLastAtMost(sm.sessions, above.sm.sessions[session]!);
  if (findSession(above.from) !== from) throw new CannotResumeError('overlay');
  return { from, to: findSession(above.to) };
}

interface OverlaySpan extends Omit<IndexContinuation, 'book' | 'composed' | 'findings'> {
  readonly beneath: readonly IndexContinuation[];
  readonly isBrief: boolean;
  /** True if the index is held in a return variant that is not its native one. */
  readonly isOther: boolean;
  /** Weights by currency over all sessions, if the native variant of the index has them. */
  readonly ownShares: BookOverlay['shares'] | undefined;
}

/**
 * Computes the overlay's book over the new sessions from its path over all sessions.
 * @throws CannotResumeError
 */
function resumeOverlayBook(stored: StoredOverlay, span: OverlaySpan): Book {
  const { document, sm, from, to, beneath, isBrief } = span;
  if (!isOverlayDocument(document)) throw new Error(`${document.id} is not an overlay`);
  const { first, level, hasCurrencyPart } = stored;
  const books = beneath.map(({ book, sm: sessionMarket }) =>
    sessionMarket === sm ? book : alignBook(book, sm, { from, to }),
  );
  const extendedLayers = stored.beneath.map((layer: StoredLayer, k) => ({
    from: layer.first,
    gross: joinGross(layer, books[k]!),
  }));
  const { currency } = beneath[0]!.document;
  const type = findOverlayType(document.overlay);
  const weightedUnderlying = { book: books[0]!, currency, codes: type.weighed(document.overlay), first: from, to };
  // All return variants hedge with the currency weights of the native variant, and these weights are unknown here.
  if (span.isOther && span.ownShares === undefined && weightedUnderlying.codes.length > 0)
    throw new CannotResumeError('overlay');
  const shares = span.ownShares ?? appendShares(stored, readShares(weightedUnderlying));
  const overlayPath = computeOverlayPath({ sm, first, document, currency }, { beneath: extendedLayers, shares, to });
  const path = slicePath(overlayPath, from - first);
  const book = createPathBook({
    path,
    beneath: books,
    shares,
    valued: findValuationCurrency(document.overlay, books[0]!, currency),
    sm,
    from,
    level,
    isBrief,
    indexId: document.id,
    resumed: { hasCurrencyPart, ...selectOrdersBefore(stored, from) },
  });
  if (book.overlay!.hasCurrencyPart !== hasCurrencyPart) throw new CannotResumeError('overlay');
  return book;
}

/** Returns the part of an overlay path from `position` on. */
function slicePath({ growth, exposures, exchange, parts, resets }: OverlayPath, position: number): OverlayPath {
  return {
    growth: growth.slice(position),
    exposures: exposures.map((exposure) => exposure.slice(position)),
    exchange: exchange && exchange.slice(position),
    parts: parts.map(({ part, contributions }) => ({ part, contributions: contributions.slice(position) })),
    resets: resets && resets.slice(position),
  };
}

/** Returns the overlay's holdings at each new composition of an underlying index. */
function listNewCompositions(book: Book, continuations: readonly IndexContinuation[]): Composition[] {
  const lists = continuations.map(({ composed, sm }) =>
    sm === book.sm ? composed : composed.map(alignComposition(sm, book.sm)),
  );
  return listHeldCompositions(book, lists, null);
}
