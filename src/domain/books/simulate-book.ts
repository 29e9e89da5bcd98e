import { roundDivisor, roundShares } from './book-rounding.js';
import { roundsAny } from '../documents/dated-rounding.js';
import type { Book, BookInput, FollowedClose } from './book.js';
import { closeSession } from './book-close.js';
import { findGaps } from './book-gaps.js';
import { driftToClose } from './book-drift.js';
import { createBookEnd, listPending, writeRow, type BookState, type TransferRecorder } from './book-state.js';
import { beginHoldingPeriod, recordHoldings } from './holding-period.js';
import type { Transfers } from './transfers.js';
import { openBook } from './open-book.js';
import { finishShareRecord } from './share-record.js';
import { listAdoptedChanges } from './security-counts.js';

/** Number of sessions between two checks for cancellation. */
const TICK_SESSIONS = 64;

/**
 * Simulates a book: weights drift by growth, securities leave and enter through corporate actions, and targets take
 * effect at the close. The return of a session is that of the weights held before it. Between sessions with events a
 * holding is a fixed number of units of the value index, so a session costs one product per security.
 * @throws Refusal FX_MISSING if the exchange rate of a security is unknown at its purchase, MISSING_PRICE,
 * NUMERIC_FAILURE
 * @cost O(T H)
 */
export function simulateBook(input: BookInput): Book {
  const state = openBook(input);
  const { from, to, tick, sm, resume } = input;
  let pending: FollowedClose | null = null;
  for (let session = resume ? from + 1 : from; session <= to; session++) {
    const position = session - from;
    if (position > 0) driftToClose(state, session);
    const targets = state.targetsOn.get(session);
    findGaps(state, session, targets);
    closeSession(state, session, targets);
    if (state.hasNewShares) roundNewShares(state, session);
    if (state.begins[position] === 1) recordHoldings(state, session, 'after');
    roundDivisor(state, session);
    if (session === input.followedFrom) pending = startFollowing(state, session);
    state.counts[position] = state.count;
    if (tick && position % TICK_SESSIONS === 0) tick(position / (to - from + 1));
  }
  const {
    columns,
    value,
    gross,
    paths,
    begins,
    divisor,
    costs,
    weights,
    cash,
    counts,
    everHeld,
    events,
    gaps,
    silent,
    orders,
  } = state;
  if (input.isBrief || input.isSparse) writeRow(state, to);
  return {
    sm,
    from,
    length: to - from + 1,
    columns,
    value,
    gross,
    begins,
    divisor,
    costs,
    cash,
    counts,
    everHeld,
    events,
    gaps,
    silent,
    weights,
    end: createBookEnd(state, to),
    pending,
    path: paths,
    unfilled: orders,
    ...listGrowthFields(state),
    ...listShareFields(state),
  };
}

/** Returns the adopted share-count changes and the index shares. */
function listShareFields(state: BookState): Pick<Book, 'shareChanges' | 'shares'> {
  const shareChanges = listAdoptedChanges(state);
  return {
    ...(shareChanges === undefined ? {} : { shareChanges }),
    ...(state.shareRecorder === null ? {} : { shares: finishShareRecord(state.shareRecorder) }),
  };
}

/** Rounds index shares that a spin-off or reinvested cash changed on the session. */
function roundNewShares(state: BookState, session: number): void {
  state.hasNewShares = false;
  if (!roundsAny(state.input.rounding, 'shares')) return;
  writeRow(state, session);
  roundShares(state, session);
  beginHoldingPeriod(state, session);
}

/**
 * Starts a holding period at a close, so that a portfolio can follow the book from there.
 * @returns the state at that close
 */
function startFollowing(state: BookState, session: number): FollowedClose {
  writeRow(state, session);
  if (state.path !== 1 || state.carry !== 1) beginHoldingPeriod(state, session);
  const pending = listPending(state);
  const { levels, divisor, held, units, exactDivisor = 1 } = createBookEnd(state, session);
  if (levels === null) return pending;
  return { ...pending, shares: { levels, divisor: divisor * exactDivisor, columns: held, units } };
}

function finishTransfers({ at, slot, dividends, moved, keptAt, kept }: TransferRecorder): Transfers {
  return {
    at: at.values(),
    slot: slot.values(),
    dividends: dividends.values(),
    moved: moved.values(),
    keptAt: keptAt.values(),
    kept: kept.values(),
  };
}

/**
 * Returns the growth of a book that does not follow from its weights: price growth, transfers, reinvested dividends and
 * the rounding of the divisor.
 */
function listGrowthFields({
  drift,
  gross,
  transfers,
  reinvested,
  exactDivisor,
  input,
}: BookState): Pick<Book, 'drift' | 'transfers' | 'reinvested' | 'exactDivisor'> {
  return {
    ...(drift === gross ? {} : { drift }),
    ...(transfers.at.length + transfers.keptAt.length === 0 ? {} : { transfers: finishTransfers(transfers) }),
    ...(reinvested === null || input.fills !== 'all' ? {} : { reinvested }),
    ...(exactDivisor === null ? {} : { exactDivisor }),
  };
}
