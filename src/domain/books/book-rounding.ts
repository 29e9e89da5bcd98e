import type { IndexDocument } from '../documents/index-document.js';
import { roundHalfAwayFromZero } from '../numbers/round-half-away.js';
import { Refusal } from '../refusals/refusal.js';
import { formatDay, type Day } from '../time/days.js';
import { createDatedRounding, findRounding, roundsAny } from '../documents/dated-rounding.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
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
 * Returns the divisor of a session, rounded if the index rounds it and the session changes it. Levels include the
 * rounding difference from that session on.
 * @param exact divisor after the adjustments before the session's growth
 */
export function roundOpeningDivisor(state: BookState, session: number, exact: number): number {
  return roundDivisorValue(state, exact, { session, day: readDay(state, session) });
}

/** Rounds the divisor after a close, on which the levels of later sessions are based. */
export function roundDivisor(state: BookState, session: number): void {
  const { divisor, input, exactDivisor } = state;
  if (exactDivisor === null) return;
  const position = session - input.from;
  const exact = divisor[position]!;
  const roundedDivisor = roundDivisorValue(state, exact, { session, day: readDay(state, session) + 1 });
  divisor[position] = roundedDivisor;
  exactDivisor[position] = exact / roundedDivisor;
}

/**
 * Returns the divisor, rounded if the index rounds it.
 * @throws Refusal NUMERIC_FAILURE if the rounded divisor is 0
 */
function roundDivisorValue(
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

/** Returns true if the index rounds its index shares. Fixed numbers of shares are not rounded. */
function isRounding({ reinvested, holdsBasket }: BookState): boolean {
  return reinvested !== null && !holdsBasket;
}

/** Rounds the index shares after a close. The divisor absorbs the difference in value, so the level is unchanged. */
export function roundShares(state: BookState, session: number): void {
  const { input, sm, index, divisor, weights, columns, cash, expectedShares } = state;
  const decimals = findShareDecimals(state, readDay(state, session) + 1);
  if (decimals === undefined || !isRounding(state)) return;
  const position = session - input.from;
  const row = findRowOffset(state, session);
  const money = state.reinvested!.levels.price[position]! * divisor[position]!;
  const prices = readPanelRow(sm, session);
  let sum = cash[position]!;
  for (const slot of state.heldSlots.slice(0, state.count)) {
    const price = index[prices + columns[slot]!]!;
    const exact = (weights[row + slot]! * money) / price;
    const shares = roundToDecimals(exact, decimals);
    const weight = Math.abs(shares / exact - 1) < WHOLE_TOLERANCE ? weights[row + slot]! : (shares * price) / money;
    if (weight === 0) dropSecurity(state, slot, row);
    weights[row + slot] = weight;
    expectedShares[slot] = shares;
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

/** Returns a number of index shares after a change before a session's growth, rounded if the index rounds it. */
export function roundShareNumber(state: BookState, day: Day, shares: number): number {
  const decimals = findShareDecimals(state, day);
  return decimals === undefined || !isRounding(state) ? shares : roundToDecimals(shares, decimals);
}

function roundToDecimals(shares: number, decimals: number): number {
  return roundHalfAwayFromZero(Number(shares.toPrecision(CORRECT_DIGITS)), decimals);
}
