import { SESSIONS_PER_CALL } from '#kernels/engines/value-panel.js';
import { sumHoldingValue } from '#kernels/sums/sums.js';
import { readPanelRow } from '../market/session-market.js';
import { computePriceLevel, recordShares, type ShareMoment, toShareTime } from './book.js';
import { type BookState, countSessionsAhead, findRowOffset, isOneRunOf, type SpunOffSecurity } from './state.js';

/**
 * Returns the book value relative to the start of the holding period. The same pass sums later sessions on which the
 * units probably stay unchanged, so that the holdings are read only once.
 */
export function computeBookValue(state: BookState, session: number): number {
  const { index, sm, heldColumns, units, count, isOneRun, ahead, panel } = state;
  if (ahead.period === state.periods && session > ahead.from && session < ahead.to)
    return ahead.values[session - ahead.from]!;
  const row = readPanelRow(sm, session);
  const holding = { columns: heldColumns, units, count, money: state.periodCash };
  if (panel === undefined) return sumHoldingValue(index, row, holding);
  if (!panel.has(ahead, state.periods)) panel.load(holding, { isRun: isOneRun, owner: ahead, version: state.periods });
  ahead.period = state.periods;
  ahead.from = session;
  ahead.to = findNextUnitChange(state, session);
  panel.values(row, ahead.to - session, ahead.values);
  return ahead.values[0]!;
}

/** Changes the units of a position within a holding period. */
export function setUnits({ units, panel, ahead, periods }: BookState, place: number, changedUnits: number): void {
  units[place] = changedUnits;
  if (panel?.has(ahead, periods)) panel.setUnits(place, units[place]!);
  ahead.to = ahead.from; // invalidates the precomputed sums, which used the old units
}

/**
 * Returns the end, exclusive, of the sessions on which no units of a holding are known to change, at most
 * `SESSIONS_PER_CALL` sessions later. An event that is only known at a close may change units earlier.
 */
function findNextUnitChange(state: BookState, session: number): number {
  const { input, sm, targetsOn, ofShorts, effects } = state;
  if (ofShorts !== effects) return session + 1;
  const { isOpening } = effects;
  const { isStructural } = sm.actions;
  const last = Math.min(input.to, session + Math.min(SESSIONS_PER_CALL, countSessionsAhead(state, session)) - 1);
  let periodEnd = session;
  while (
    periodEnd < last &&
    !targetsOn.has(periodEnd) &&
    isStructural[periodEnd + 1] === 0 &&
    isOpening[periodEnd + 1] === 0
  )
    periodEnd++;
  return periodEnd + 1;
}

/** Starts a holding period: the holdings after this close become units of the value index. */
export function beginHoldingPeriod(state: BookState, session: number): void {
  const { input, value, cash } = state;
  const position = session - input.from;
  state.begins[position] = 1;
  state.periods++;
  if (state.reinvested === null) holdUnits(state, session);
  else holdIndexShares(state, session);
  state.isOneRun = isOneRunOf(state.heldColumns, state.count);
  state.periodCount = state.count;
  if (state.reinvested !== null) stateLevel(state, session);
  state.periodValue = value[position]!;
  state.carry = 1;
  if (state.reinvested === null) state.periodCash = cash[position]!;
  else state.periodLevel = state.reinvested.levels[state.growth.variant][position]!;
}

/** Converts weights into units per unit of value. */
function holdUnits(state: BookState, session: number): void {
  const { input, index, sm, units, heldColumns, heldSlots, places, count, weights, columns, value } = state;
  const position = session - input.from;
  const row = findRowOffset(state, session);
  const from = readPanelRow(sm, session);
  for (let k = 0; k < count; k++) {
    const slot = heldSlots[k]!;
    const column = columns[slot]!;
    heldColumns[k] = column;
    places[slot] = k;
    units[k] = weights[row + slot]! / index[from + column]!;
  }
  // Without costs the first quotient is exactly 1.
  const scale =
    value[position]! > 0 ? (state.periodValue * (state.path * state.carry)) / value[position]! / state.path : 1;
  for (const child of state.children) child.units *= scale;
  state.path = 1;
}

/** Maximum relative rounding error of index shares that are computed from weights. */
const SHARE_NOISE = 1e-12;

/**
 * Converts weights into index shares at the market value of the book. Index shares that the close does not change keep
 * their bits.
 */
function holdIndexShares(state: BookState, session: number): void {
  const { index, sm, units, heldColumns, heldSlots, places, count, weights, columns, expectedShares } = state;
  const position = session - state.input.from;
  const { levels } = state.reinvested!;
  // After a total loss the level stays 0, whatever the market value of later holdings.
  const exactDivisor = state.divisor[position]! * (state.exactDivisor?.[position] ?? 1);
  const money = levels.price[position]! * exactDivisor || 1;
  const row = findRowOffset(state, session);
  const from = readPanelRow(sm, session);
  for (let k = 0; k < state.periodCount; k++) {
    const slot = state.slotOf[heldColumns[k]!]!;
    if (expectedShares[slot] === 0) expectedShares[slot] = units[k]!;
  }
  state.periodCash = state.cash[position]! * money;
  for (let k = 0; k < count; k++) {
    const slot = heldSlots[k]!;
    const column = columns[slot]!;
    heldColumns[k] = column;
    places[slot] = k;
    const shares = (weights[row + slot]! * money) / index[from + column]!;
    const expected = expectedShares[slot]!;
    units[k] = Math.abs(shares / expected - 1) < SHARE_NOISE ? expected : shares;
  }
  expectedShares.fill(0);
}

/** Records the level of the close as that of the market value, unless the level already follows from it. */
function stateLevel(state: BookState, session: number): void {
  const position = session - state.input.from;
  const divisor = state.divisor[position]!;
  const level = state.reinvested!.levels.price[position]!;
  state.path = computeBookValue(state, session);
  if (computePriceLevel(state.stated, state.path, divisor) !== level)
    state.stated = { marketValue: state.path, divisor, level };
}

/** Records the index shares of all holdings that changed. After a close, also records the securities that left. */
export function recordHoldings(state: BookState, session: number, moment: ShareMoment): void {
  const { shareRecorder: recorder, heldColumns, slotOf, units, periodCount } = state;
  if (recorder === null) return;
  const time = toShareTime(session - state.input.from, moment);
  if (moment !== 'after') {
    for (let k = 0; k < periodCount; k++) recordShares(recorder, time, slotOf[heldColumns[k]!]!, units[k]!);
    return;
  }
  for (let slot = 0; slot < state.isHeld.length; slot++)
    recordShares(recorder, time, slot, state.isHeld[slot] === 1 ? units[state.places[slot]!]! : 0);
}

/** Adds the shares of a spun-off security to those that its weight is expected to give. */
export function expectShares(state: BookState, session: number, { slot, units: added }: SpunOffSecurity): void {
  const { isHeld, units, places, expectedShares } = state;
  const heldUnits = expectedShares[slot]! || (isHeld[slot] === 1 ? units[places[slot]!]! : 0);
  expectedShares[slot] = heldUnits + added;
  if (state.shareRecorder !== null)
    recordShares(state.shareRecorder, toShareTime(session - state.input.from, 'close'), slot, heldUnits + added);
}

/** Removes all holdings after a total loss. */
export function clearSecurities(state: BookState, session: number): void {
  const { weights, columns } = state;
  const row = findRowOffset(state, session);
  weights.fill(0, row, row + columns.length);
  state.count = 0;
  state.isHeld.fill(0);
  beginHoldingPeriod(state, session);
}
