import { readPriceSessions } from '#domain/documents/stale-sessions.js';
import { findTreatment } from '#domain/documents/treatment.js';
import { listEvents, type EventTerms, type SessionEvents } from '#domain/books/book-events.js';
import type { Received } from '#domain/corporate-actions/pro-forma.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import { findEffect, createEffectTable } from '#domain/index-mathematics/session-effects.js';

/** A holding before a session on which something happened to it. */
export interface HeldBefore {
  readonly session: number;
  readonly column: number;
  /** Index shares at the close before. */
  readonly shares: number;
  /** Level at the close of the session. */
  readonly level: number;
}

/** The proceeds of a security that ended. */
export interface ExitProceeds {
  /**
   * Cash per share held before, in the currency of the security; null if there was none because the security stays or
   * converted.
   */
  readonly proceeds: number | null;
  readonly received: Received | null;
}

const NOTHING: ExitProceeds = { proceeds: null, received: null };

/** Returns the outcome that a run used for a security ended by an action: of an offer only the chosen side is shown. */
export function findTakenOutcome(terms: EventTerms, action: CorporateAction, held: HeldBefore): ExitProceeds {
  const { sm, rates } = terms;
  const { session, column, shares, level } = held;
  const events = listEvents(terms, session);
  if (action.type === 'SPIN_OFF') return { proceeds: null, received: childTaken(terms, action, { ...held, events }) };
  const exit = events?.exits.get(column);
  if (exit === undefined || exit.action !== action) return NOTHING;
  const effect = findEffect(createEffectTable(sm, terms.growth), session, column);
  const split = effect?.ratio ?? 1;
  const each = exit.proceeds ?? sm.carriedClose(session, column);
  const into = events!.conversions.get(column);
  if (into === undefined) return { proceeds: each * split, received: null };
  const rate = rates.isNative(column) ? 1 : rates.rateAt(session, column);
  const weight = (shares * split * (each + (effect?.cash ?? 0)) * (1 - exit.cashShare) * rate) / level;
  return {
    proceeds: action.cash === undefined ? null : action.cash * split,
    received: { identifier: sm.identifiers[into]!, ratio: action.value * split, weight },
  };
}

/** Returns the shares of a spun-off security, which have a value if it has a price by the close of the day. */
function childTaken(
  { sm, rates, treatment, growth }: EventTerms,
  { related }: CorporateAction,
  { session, column, shares, level, events }: HeldBefore & { readonly events: SessionEvents | undefined },
): Received | null {
  const spun = events?.spinOffs.find(({ parent, child }) => parent === column && sm.identifiers[child] === related);
  if (spun === undefined) return null;
  const { child, units } = spun;
  const ratio = units * (findEffect(createEffectTable(sm, growth), session, column)?.ratio ?? 1);
  const isPriced = sm.isPriceable(session, child, readPriceSessions(treatment));
  const rate = rates.isNative(child) ? 1 : rates.rateAt(session, child);
  // A spun-off security that leaves at its first close is not held after it.
  const isDropped = findTreatment(treatment, sm.sessions[session]!).spin_offs === 'drop_after_first_session';
  const weight = isPriced && !isDropped ? (shares * ratio * sm.carriedClose(session, child) * rate) / level : 0;
  return { identifier: sm.identifiers[child]!, ratio, weight };
}
