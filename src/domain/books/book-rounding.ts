import type { IndexDocument } from '../documents/index-document.js';
import { computeShareFactor } from '../index-mathematics/adjusted-close.js';
import { findCarriedUnder } from '../index-mathematics/growth.js';
import { readEffect } from '../index-mathematics/session-effects.js';
import { roundHalfAwayFromZero } from '../numbers/round-half-away.js';
import { Refusal } from '../refusals/refusal.js';
import { formatDay, type Day } from '../time/days.js';
import { createDatedRounding, findRounding, roundsAny } from '../documents/dated-rounding.js';
import type { SessionMarket } from '../market/session-market.js';
import type { BookInput } from './book.js';
import { dropSecurity, findRowOffset, type BookState } from './book-state.js';

/**
 * Number of correct digits in a product of weights, levels and prices. A product that is a half within these digits is
 * rounded as an exact half.
 */
const CORRECT_DIGITS = 13;

/** Relative change by rounding below which index shares are already whole. */
const WHOLE_TOLERANCE = 1e-12;

/** Returns the rounding decimals and the first divisor of an index book. */
export function createBookRounding(
  document: IndexDocument,
  { calendar }: Pick<SessionMarket, 'calendar'>,
): Pick<BookInput, 'rounding' | 'baseDivisor'> {
  const { base_market_value: base, base_value: level } = document;
  const rounding = createDatedRounding(document, calendar);
  const isRounded = roundsAny(rounding, 'divisor') || roundsAny(rounding, 'shares');
  return {
    ...(rounding !== undefined && isRounded ? { rounding } : {}),
    ...(base === undefined ? {} : { baseDivisor: base / level }),
  };
}

/**
 * Returns the rounded divisor of a session. Levels include the rounding difference from that session on.
 * @param exact divisor after the adjustments before the session's growth
 */
export function computeOpeningDivisor(state: BookState, session: number, exact: number): number {
  const roundedDivisor = computeContinuousDivisor(state, exact, { session, day: readDay(state, session) });
  if (roundedDivisor !== exact) state.carry *= exact / roundedDivisor;
  return roundedDivisor;
}

/** Applies the rounding of the divisor at the previous close to the level. */
export function applyRounding(state: BookState): void {
  if (state.roundedBy === 1) return;
  state.carry *= state.roundedBy;
  state.roundedBy = 1;
}

/** Rounds the divisor after a close, on which the levels of later sessions are based. */
export function roundDivisor(state: BookState, session: number): void {
  const { divisor, input, exactDivisor } = state;
  if (exactDivisor === null) return;
  const position = session - input.from;
  const exact = divisor[position]!;
  const roundedDivisor = computeContinuousDivisor(state, exact, { session, day: readDay(state, session) + 1 });
  divisor[position] = roundedDivisor;
  exactDivisor[position] = exact / roundedDivisor;
  state.roundedBy = exact / roundedDivisor;
}

/**
 * Returns the divisor, rounded if the index rounds it.
 * @throws Refusal NUMERIC_FAILURE if the rounded divisor is 0
 */
function computeContinuousDivisor(
  { input, sm, exactDivisor }: BookState,
  exact: number,
  { session, day }: RoundingDate,
): number {
  const decimals = findRounding(input.rounding, day).divisor;
  if (decimals === undefined || exactDivisor === null) return exact;
  const roundedValue = roundHalfAwayFromZero(Number(exact.toPrecision(CORRECT_DIGITS)), decimals);
  if (roundedValue > 0) return roundedValue;
  throw new Refusal(
    'NUMERIC_FAILURE',
    `${input.title} has the divisor ${exact.toPrecision(3)} on ${formatDay(sm.sessions[session]!)}, which is 0 with ${decimals} decimals; set base_market_value to get a larger divisor.`,
    { divisor: exact, decimals },
  );
}

/** Returns the decimals of index shares on a day. Returns undefined if index shares are not rounded. */
function findShareDecimals({ input }: BookState, day: Day): number | undefined {
  return input.rounding === undefined ? undefined : findRounding(input.rounding, day).shares;
}

interface RoundingDate {
  readonly session: number;
  /** Day of the close, or the following day for a rounding after the close. */
  readonly day: Day;
}

const readDay = ({ sm }: BookState, session: number): Day => sm.sessions[session]!;

/** Rounds the index shares after a close. The divisor absorbs the difference in value, so the level is unchanged. */
export function roundShares(state: BookState, session: number): void {
  const { input, sm, rates, effects, reinvested, divisor, weights, columns, cash } = state;
  const decimals = findShareDecimals(state, readDay(state, session) + 1);
  if (decimals === undefined || reinvested === null || state.basketUnit !== null) return;
  const position = session - input.from;
  const row = findRowOffset(state, session);
  const money = reinvested.levels.price[position]! * divisor[position]!;
  let sum = cash[position]!;
  for (const slot of state.heldSlots.slice(0, state.count)) {
    const column = columns[slot]!;
    const price = findCarriedUnder(sm, effects, session, column) * rates.rateAt(session, column);
    const weight = weights[row + slot]! * computeRoundingFactor((weights[row + slot]! * money) / price, decimals);
    if (weight === 0) dropSecurity(state, slot, row);
    weights[row + slot] = weight;
    sum += weight;
  }
  if (sum === 1) return;
  assertHasHoldings(state, session, sum);
  for (let k = 0; k < state.count; k++) weights[row + state.heldSlots[k]!]! /= sum;
  cash[position]! /= sum;
  divisor[position]! *= sum;
}

function assertHasHoldings({ input, sm, count }: BookState, session: number, sum: number): void {
  if (sum > 0 && count > 0) return;
  throw new Refusal(
    'NUMERIC_FAILURE',
    `${input.title} has no index shares left on ${formatDay(sm.sessions[session]!)} with ${findRounding(input.rounding, sm.sessions[session]! + 1).shares} decimals; set a larger base_market_value.`,
  );
}

export interface SharesBefore {
  readonly column: number;
  /** Value of the holding as a fraction of the index value at the previous close. */
  readonly weight: number;
}

export interface OpeningShares extends SharesBefore {
  /** Row of the effect table. */
  readonly effect: number;
}

/** Returns the ratio of the rounded index shares to the exact index shares after a share-count change. */
export function computeCountedShareFactor(
  state: BookState,
  session: number,
  changed: SharesBefore,
  factor: number,
): number {
  const decimals = findShareDecimals(state, readDay(state, session));
  if (decimals === undefined || state.reinvested === null || state.basketUnit !== null) return 1;
  return computeRoundingFactor(computeSharesBefore(state, session, changed) * factor, decimals);
}

/** Returns the index shares of a holding at the previous close. */
function computeSharesBefore(state: BookState, session: number, { column, weight }: SharesBefore): number {
  const { input, sm, rates, effects, reinvested, divisor } = state;
  const position = session - 1 - input.from;
  const money = reinvested!.levels.price[position]! * divisor[position]! * state.roundedBy;
  return (weight * money) / (findCarriedUnder(sm, effects, session - 1, column) * rates.rateAt(session - 1, column));
}

/**
 * Returns the ratio of the rounded index shares to the exact index shares after a corporate action before a session's
 * growth.
 */
export function computeOpeningShareFactor(
  state: BookState,
  session: number,
  { effect, column, weight }: OpeningShares,
): number {
  const { sm, effects, reinvested } = state;
  const decimals = findShareDecimals(state, readDay(state, session));
  if (decimals === undefined || reinvested === null || state.basketUnit !== null) return 1;
  const before = findCarriedUnder(sm, effects, session - 1, column);
  const factor = computeShareFactor(readEffect(effects, effect), before, effects.getTerms(session));
  if (factor === 1 || factor !== factor) return 1;
  return computeRoundingFactor(computeSharesBefore(state, session, { column, weight }) * factor, decimals);
}

function computeRoundingFactor(shares: number, decimals: number): number {
  const factor = roundHalfAwayFromZero(Number(shares.toPrecision(CORRECT_DIGITS)), decimals) / shares;
  return !Number.isFinite(factor) || Math.abs(factor - 1) < WHOLE_TOLERANCE ? 1 : factor;
}
