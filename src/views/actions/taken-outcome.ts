import { findTreatment } from '#domain/documents/treatment.js';
import { listEvents, type EventTerms, type SessionEvents } from '#domain/books/book-events.js';
import type { ReceivedShares } from '#domain/corporate-actions/pro-forma.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import { readCarriedClose } from '#domain/index-mathematics/growth.js';
import { findEffect, createEffectTable } from '#domain/index-mathematics/session-effects.js';

/** A holding before a session with an event. */
export interface HoldingBefore {
  readonly session: number;
  readonly column: number;
  /** Index shares at the previous close. */
  readonly shares: number;
  /** Level at the close of the session. */
  readonly level: number;
}

/** Proceeds of a security that left the index. */
export interface ExitProceeds {
  /**
   * Cash per share held before the event, in the currency of the security; null if the security stayed or was converted
   * into shares only.
   */
  readonly proceeds: number | null;
  readonly received: ReceivedShares | null;
}

const NO_PROCEEDS: ExitProceeds = { proceeds: null, received: null };

/**
 * Returns the outcome that a run applied to a security with an action. For an offer, returns only the side that was
 * chosen.
 */
export function findActualOutcome(
  terms: EventTerms,
  action: CorporateAction,
  holdingBefore: HoldingBefore,
): ExitProceeds {
  const { sm, rates } = terms;
  const { session, column, shares, level } = holdingBefore;
  const events = listEvents(terms, session);
  if (action.type === 'SPIN_OFF')
    return { proceeds: null, received: findReceivedChild(terms, action, { ...holdingBefore, events }) };
  const exit = events?.exits.get(column);
  if (exit === undefined || exit.action !== action) return NO_PROCEEDS;
  const effect = findEffect(createEffectTable(sm, terms.growth), session, column);
  const split = effect?.ratio ?? 1;
  const proceedsPerShare = exit.proceeds ?? readCarriedClose(sm, terms.growth, session, column);
  const targetColumn = events!.conversions.get(column);
  if (targetColumn === undefined) return { proceeds: proceedsPerShare * split, received: null };
  const rate = rates.isNative(column) ? 1 : rates.rateAt(session, column);
  const weight = (shares * split * (proceedsPerShare + (effect?.cash ?? 0)) * (1 - exit.cashShare) * rate) / level;
  return {
    proceeds: action.cash === undefined ? null : action.cash * split,
    received: { identifier: sm.identifiers[targetColumn]!, ratio: exit.ratio * split, weight },
  };
}

/**
 * Returns the shares of a spun-off security that were received. If it has no price by the close of the day, their
 * weight is zero.
 */
function findReceivedChild(
  { sm, rates, treatment, growth }: EventTerms,
  { related }: CorporateAction,
  { session, column, shares, level, events }: HoldingBefore & { readonly events: SessionEvents | undefined },
): ReceivedShares | null {
  const spinOff = events?.spinOffs.find(({ parent, child }) => parent === column && sm.identifiers[child] === related);
  if (spinOff === undefined) return null;
  const { child, units } = spinOff;
  const ratio = units * (findEffect(createEffectTable(sm, growth), session, column)?.ratio ?? 1);
  const isPriced = sm.isPriceable(session, child, Infinity);
  const rate = rates.isNative(child) ? 1 : rates.rateAt(session, child);
  // A spun-off security can leave the index at its first close. It then has no weight afterwards.
  const isDropped = findTreatment(treatment, sm.sessions[session]!).spin_offs === 'drop_after_first_session';
  const weight =
    isPriced && !isDropped ? (shares * ratio * readCarriedClose(sm, growth, session, child) * rate) / level : 0;
  return { identifier: sm.identifiers[child]!, ratio, weight };
}
