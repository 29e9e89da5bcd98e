import { SESSIONS_PER_CALL } from '#kernels/engines/value-panel.js';
import { sumHoldingValue } from '#kernels/sums/sums.js';
import { readPanelRow } from '../market/session-market.js';
import { computePriceLevel, recordShares, type ShareMoment, toShareTime } from './book.js';
import { type BookState, countSessionsAhead, findRowOffset } from './state.js';

/**
 * Returns the book value relative to the start of the holding period. The same pass sums later sessions on which the
 * units probably stay unchanged, so that the holdings are read only once.
 */
export function computeBookValue(state: BookState, session: number): number {
  const { sm, columns } = state;
  const { index, panel } = state.tables;
  const { heldColumns, heldSlots, units, count } = state.holdings;
  const { ahead } = state.period;
  if (ahead.period === state.period.number && session > ahead.from && session < ahead.to)
    return ahead.values[session - ahead.from]!;
  const row = readPanelRow(sm, session);
  const holding = { columns: heldColumns, slots: heldSlots, units, count, money: state.period.cash };
  if (panel === undefined) return sumHoldingValue(index, row, holding);
  if (!panel.has(ahead, state.period.number))
    panel.load(holding, { width: columns.length, owner: ahead, version: state.period.number });
  ahead.period = state.period.number;
  ahead.from = session;
  ahead.to = findNextUnitChange(state, session);
  panel.values(row, ahead.to - session, ahead.values);
  return ahead.values[0]!;
}

export function setUnits(
  { holdings: { units }, tables: { panel }, period: { ahead, number: periods } }: BookState,
  place: number,
  changedUnits: number,
): void {
  units[place] = changedUnits;
  if (panel?.has(ahead, periods)) panel.setUnits(place, units[place]!);
  ahead.to = ahead.from; // invalidates the precomputed sums, which used the old units
}

/**
 * Returns the end, exclusive, of the sessions on which no units of a holding are known to change, at most
 * `SESSIONS_PER_CALL` sessions later. An event that is only known at a close may change units earlier.
 */
function findNextUnitChange(state: BookState, session: number): number {
  const { input, sm, targetsOn } = state;
  const { ofShorts, effects } = state.tables;
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
  const { input } = state;
  const { value, cash } = state.series;
  const position = session - input.from;
  state.series.begins[position] = 1;
  state.period.number++;
  if (state.series.reinvested === null) holdUnits(state, session);
  else holdIndexShares(state, session);
  state.period.count = state.holdings.count;
  if (state.series.reinvested !== null) stateLevel(state, session);
  state.period.value = value[position]!;
  state.running.carry = 1;
  if (state.series.reinvested === null) state.period.cash = cash[position]!;
  else state.period.level = state.series.reinvested.levels[state.growth.variant][position]!;
}

function holdUnits(state: BookState, session: number): void {
  const { input, sm, columns } = state;
  const { index } = state.tables;
  const { units, heldColumns, heldSlots, places, count } = state.holdings;
  const { weights, value } = state.series;
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
    value[position]! > 0
      ? (state.period.value * (state.running.path * state.running.carry)) / value[position]! / state.running.path
      : 1;
  for (const child of state.pending.children) child.units *= scale;
  state.running.path = 1;
}

/** Maximum relative rounding error of index shares that are computed from weights. */
const SHARE_NOISE = 1e-12;

/**
 * Converts weights into index shares at the market value of the book. Index shares that the close does not change keep
 * their bits.
 */
function holdIndexShares(state: BookState, session: number): void {
  const { sm, columns } = state;
  const { index } = state.tables;
  const { units, heldColumns, heldSlots, places, count, expectedShares } = state.holdings;
  const { weights } = state.series;
  const position = session - state.input.from;
  const { levels } = state.series.reinvested!;
  // After a total loss the level stays 0, whatever the market value of later holdings.
  const exactDivisor = state.series.divisor[position]! * (state.series.exactDivisor?.[position] ?? 1);
  const money = levels.price[position]! * exactDivisor || 1;
  const row = findRowOffset(state, session);
  const from = readPanelRow(sm, session);
  for (let k = 0; k < state.period.count; k++) {
    const slot = state.slotOf[heldColumns[k]!]!;
    if (expectedShares[slot] === 0) expectedShares[slot] = units[k]!;
  }
  state.period.cash = state.series.cash[position]! * money;
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

/**
 * Records the level of the close as that of the market value, unless the level already follows from it. The levels after
 * a close whose divisor is rounded include the rounding difference, so they follow from the divisor.
 */
function stateLevel(state: BookState, session: number): void {
  const position = session - state.input.from;
  const divisor = state.series.divisor[position]!;
  const level = state.series.reinvested!.levels.price[position]!;
  state.running.path = computeBookValue(state, session);
  if (state.series.exactDivisor !== null) return;
  if (computePriceLevel(state.running.stated, state.running.path, divisor) !== level)
    state.running.stated = { marketValue: state.running.path, divisor, level };
}

/** Records the index shares of all holdings that changed. After a close, also records the securities that left. */
export function recordHoldings(state: BookState, session: number, moment: ShareMoment): void {
  const { slotOf } = state;
  const { shares: recorder } = state.record;
  const { heldColumns, units } = state.holdings;
  const { count: periodCount } = state.period;
  if (recorder === null) return;
  const time = toShareTime(session - state.input.from, moment);
  if (moment !== 'after') {
    for (let k = 0; k < periodCount; k++) recordShares(recorder, time, slotOf[heldColumns[k]!]!, units[k]!);
    return;
  }
  for (let slot = 0; slot < state.holdings.isHeld.length; slot++)
    recordShares(recorder, time, slot, state.holdings.isHeld[slot] === 1 ? units[state.holdings.places[slot]!]! : 0);
}

/** Removes all holdings after a total loss. */
export function clearSecurities(state: BookState, session: number): void {
  const { columns } = state;
  const { weights } = state.series;
  const row = findRowOffset(state, session);
  weights.fill(0, row, row + columns.length);
  state.holdings.count = 0;
  state.holdings.isHeld.fill(0);
  beginHoldingPeriod(state, session);
}
