import { listSources, type OverlayDocument } from '../documents/index-document.js';
import { parseValidDay, type Day } from '../time/days.js';
import { findSessionWithData } from './due-rebalances.js';
import type { Composer } from './compositions.js';
import { listHoldings } from './index-run.js';
import { composeAsKnown, refuseBeforeFirstRebalance } from './known-compositions.js';
import type { ExposureStep } from '../overlays/overlay-type.js';
import type { SessionMarket } from '../market/session-market.js';

/** Securities that an overlay holds through its underlying indices after the close of a session. */
export interface OverlayPreview {
  readonly document: OverlayDocument;
  readonly sm: SessionMarket;
  readonly session: number;
  /** Market columns, ascending. */
  readonly columns: Int32Array;
  /** Weights in the overlay; 1 less the sum is cash, negative if borrowed. */
  readonly weights: Float64Array;
  /** Derivation of the exposure; absent if the overlay has no target exposure. */
  readonly exposure?: ExposureStep;
}

/**
 * Computes the holdings of an overlay on a day.
 * @throws Refusal NO_DATA_AT_DATE before the overlay begins, and refusals of the underlying indices
 */
export function previewOverlay(composer: Composer, document: OverlayDocument, asOf: Day): OverlayPreview {
  const compositions = composeAsKnown(composer, document.id);
  const sm = composer.market(document.id);
  const session = findSessionWithData(sm, asOf);
  if (compositions === undefined || session < compositions.first)
    throw refuseBeforeFirstRebalance(`The overlay ${document.id}`, document, asOf);
  const book = compositions.overlay!.book!; // an overlay document is composed as an overlay
  const exposure = book.overlay?.explain?.(session - book.from);
  return { document, sm, session, ...listHoldings(book, session), ...(exposure ? { exposure } : {}) };
}

export interface FirstOverlayPreview {
  /** Creates a composer without data after a day. */
  readonly composerUntil: (until: Day) => Composer;
  readonly document: OverlayDocument;
}

/**
 * Number of days after the base date in which the first session is searched. Each further attempt covers four times as
 * many days.
 */
const FIRST_SPAN = 14;

/**
 * Computes the holdings on the first session: the base date, or the first later session with prices of all underlying
 * indices.
 */
export function previewOverlayOnFirstSession({ composerUntil, document }: FirstOverlayPreview): OverlayPreview {
  const begin = composerUntil(0);
  const last = begin.market(document.id).market.dates.at(-1) ?? 0;
  const bases = [document, ...listSources(document).map((id) => begin.document(id))].map((of) =>
    parseValidDay(of.base_date),
  );
  for (let span = FIRST_SPAN; ; span *= 4) {
    const endDay = Math.min(Math.max(...bases) + span, last);
    const composer = composerUntil(endDay);
    const compositions = composeAsKnown(composer, document.id);
    if (compositions !== undefined)
      return previewOverlay(composer, document, compositions.sm.sessions[compositions.first]!);
    if (endDay === last) throw refuseBeforeFirstRebalance(`The overlay ${document.id}`, document, last);
  }
}
