import { sumHoldingValue } from '#kernels/sums/holding-values.js';
import { findTreatment } from '../documents/treatment.js';
import { roundOpeningDivisor } from './book-rounding.js';
import { readPriceSessions, countStaleSessions } from '../documents/stale-sessions.js';
import { formatDay } from '../time/days.js';
import { requireRate } from '../market/exchange-rates.js';
import { findCarriedAtEffect, findCarriedUnder } from '../index-mathematics/growth.js';
import { findEffect } from '../index-mathematics/session-effects.js';
import { holdsShares, toShortTerms } from '../index-mathematics/growth-terms.js';
import { readPanelRow } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { listEvents, computeExitFactor, convertPrice } from './book-events.js';
import {
  clearRow,
  holdSecurity,
  isHeldColumn,
  NO_COLUMNS,
  findSlot,
  findRowOffset,
  writeRow,
  type BookState,
  type SpunOffSecurity,
} from './book-state.js';
import { beginHoldingPeriod, clearSecurities, expectShares, recordHoldings } from './holding-period.js';
import { assertWorth } from './book-limits.js';
import { computeBookValue, setUnits } from './book-growth.js';
import { growShares, openSession, reinvestCash, roundShareFactors } from './book-income.js';
import type { CountFactors } from './security-counts.js';
import { countFactors } from './share-changes.js';

/**
 * Moves the book from the previous close to this close: applies growth, proceeds of securities that leave, and
 * spin-offs.
 */
export function driftToClose(state: BookState, session: number): void {
  const { treatment } = state.input;
  if (treatment.amended) state.treatment = findTreatment(treatment, state.sm.sessions[session]!);
  const { input, sm, value, cash, divisor } = state;
  const position = session - input.from;
  clearRow(state, session);
  const worthlessColumns = listWorthlessSecurities(state, session);
  const isStructural =
    sm.actions.isStructural[session] === 1 ||
    state.children.length > 0 ||
    state.renamed.size > 0 ||
    worthlessColumns.length > 0;
  state.today = isStructural ? listEvents(state, session) : undefined;
  state.droppedChildren = NO_COLUMNS;
  const shareFactors = countFactors(state, session);
  roundShareFactors(state, session, shareFactors);
  const spunOffSecurities = state.today === undefined ? NO_CHILDREN : listSpunOff(state, session, shareFactors);
  const openingGrowth = openSession(state, session, shareFactors);
  if (state.reinvested !== null) {
    if (state.effects.isOpening[session] === 1 || shareFactors !== null) recordHoldings(state, session, 'opening');
    reinvestCash(state, session);
  }
  if (state.inIndex) adjustCash(state, session);
  if (state.ofShorts !== state.effects) adjustShorts(state, session);
  const openingDivisor = roundOpeningDivisor(state, session, divisor[position - 1]! * openingGrowth);
  divisor[position] = openingDivisor;
  const sum = isStructural
    ? growThroughEvents(state, session, { spunOff: spunOffSecurities, written: worthlessColumns })
    : computeBookValue(state, session);
  if (!Number.isFinite(sum))
    throw new Refusal(
      'NUMERIC_FAILURE',
      `The growth of the book is not finite on ${formatDay(sm.sessions[session]!)}.`,
    );
  if (state.reinvested === null) growValue(state, session, { sum, openingGrowth });
  else growShares(state, session, sum);
  assertWorth(state, session, value[position]!);
  cash[position] = sum > 0 ? state.periodCash / sum : 1;
  if (!(sum > 0)) clearSecurities(state, session);
  else if (isStructural) scaleRow(state, session, 1 / sum);
  else if (!input.isBrief && !input.isSparse) writeRow(state, session);
  if (state.reinvested === null) divisor[position] = openingDivisor * computeReinvestmentFactor(state, session);
  if (isStructural) beginHoldingPeriod(state, session);
}

interface SessionGrowth {
  /** Value of the holdings and cash relative to the start of the holding period. */
  readonly sum: number;
  readonly openingGrowth: number;
}

/** Grows the value of a book whose units are not shares. */
function growValue(state: BookState, session: number, { sum, openingGrowth }: SessionGrowth): void {
  const position = session - state.input.from;
  const before = state.path * state.carry;
  state.carry /= openingGrowth;
  state.path = sum;
  state.drift[position] = (sum * state.carry) / before;
  const growth = sum * state.carry;
  state.paths[position] = growth;
  state.gross[position] = growth / before;
  state.value[position] = state.periodValue * growth;
}

const NO_CHILDREN: readonly SpunOffSecurity[] = [];

function scaleRow({ weights, columns, input, heldSlots, count }: BookState, session: number, factor: number): void {
  const row = input.isBrief ? 0 : (session - input.from) * columns.length;
  for (let k = 0; k < count; k++) weights[row + heldSlots[k]!]! *= factor;
}

/**
 * Changes the units of holdings on a session so that they receive cash on the terms of the book. The value index
 * contains cash on other terms, for example with another tax.
 */
function adjustCash(state: BookState, session: number): void {
  const { sm, effects: ownEffectTable } = state;
  const inIndex = state.inIndex!;
  // both tables are sorted by column, so one pass reads both
  let a = ownEffectTable.starts[session]!;
  let b = inIndex.starts[session]!;
  const endA = ownEffectTable.starts[session + 1]!;
  const endB = inIndex.starts[session + 1]!;
  while (a < endA || b < endB) {
    const columnA = a < endA ? ownEffectTable.columns[a]! : Infinity;
    const columnB = b < endB ? inIndex.columns[b]! : Infinity;
    const column = Math.min(columnA, columnB);
    const cash = columnA === column ? ownEffectTable.cash[a++]! : 0;
    const cashInIndex = columnB === column ? inIndex.cash[b++]! : 0;
    const heldPosition = findSlot(state, column);
    if (heldPosition < 0 || hasSeparateTerms(state, heldPosition)) continue;
    const price =
      columnA === column ? findCarriedAtEffect(sm, ownEffectTable, a - 1) : findCarriedAtEffect(sm, inIndex, b - 1);
    setUnits(state, heldPosition, state.units[heldPosition]! * ((price + cash) / (price + cashInIndex)));
  }
}

/** Returns true if a position has separate dividend terms: a short position under a withholding tax. */
function hasSeparateTerms({ ofShorts, effects, units }: BookState, place: number): boolean {
  return ofShorts !== effects && units[place]! < 0;
}

/**
 * Changes the units of short positions on a session so that they pay dividends in full. The value index contains
 * dividends after tax.
 */
function adjustShorts(state: BookState, session: number): void {
  const { sm, effects, inIndex, ofShorts } = state;
  for (let e = ofShorts.starts[session]!; e < ofShorts.starts[session + 1]!; e++) {
    const column = ofShorts.columns[e]!;
    const cash = ofShorts.cash[e]!;
    const heldPosition = findSlot(state, column);
    if (heldPosition < 0 || !hasSeparateTerms(state, heldPosition)) continue;
    const price = findCarriedAtEffect(sm, ofShorts, e);
    const inOthers = findEffect(inIndex ?? effects, session, column)?.cash ?? 0;
    setUnits(state, heldPosition, state.units[heldPosition]! * ((price + cash) / (price + inOthers)));
  }
}

interface EventOutcome {
  readonly spunOff: readonly SpunOffSecurity[];
  /** Columns whose value becomes zero at this close. */
  readonly written: readonly number[];
}

/**
 * Grows the holdings of a session one by one through all corporate actions. Afterwards the weights row contains values
 * relative to the start of the holding period. Returns their sum, including cash.
 */
function growThroughEvents(state: BookState, session: number, { spunOff, written }: EventOutcome): number {
  const { input, index, sm, units, heldColumns, heldSlots, weights, columns, periodCash } = state;
  const row = findRowOffset(state, session);
  state.rowSession = session;
  if (input.isBrief) weights.fill(0, row, row + columns.length);
  const from = readPanelRow(sm, session);
  for (let k = 0; k < state.count; k++) weights[row + heldSlots[k]!] = units[k]! * index[from + heldColumns[k]!]!;
  valueRenamed(state, session);
  for (const [column, { proceeds }] of state.today?.exits ?? []) {
    if (proceeds !== undefined && isHeldColumn(state, column)) valueAtProceeds(state, session, { column, proceeds });
  }
  for (const column of written) weights[row + state.slotOf[column]!] = 0;
  enterChildren(state, session, spunOff);
  if (state.reinvested !== null) return sumRow(state, row);
  let sum = periodCash;
  for (let k = 0; k < state.count; k++) sum += weights[row + heldSlots[k]!]!;
  return sum;
}

/** Adds up the values of a row and the cash, in the order of sessions without events. */
function sumRow({ weights, heldSlots, count, periodCash }: BookState, row: number): number {
  const ones = new Float64Array(count).fill(1);
  return sumHoldingValue(weights, row, { columns: heldSlots, units: ones, count, money: periodCash });
}

/**
 * Returns the constituents that are written off at this close. A constituent is written off if it has had no price for
 * longer than the treatment allows, or if it is suspended and a review removes it.
 */
function listWorthlessSecurities(state: BookState, session: number): number[] {
  const { sm, treatment, targetsOn, columns, heldSlots, count } = state;
  if (treatment.suspension !== 'zero') return [];
  const targets = targetsOn.get(session);
  const results: number[] = [];
  for (let k = 0; k < count; k++) {
    const column = columns[heldSlots[k]!]!;
    if (sm.hasEnded(session, column) || targets?.columns.includes(column) === true) continue;
    const longest = targets === undefined ? countStaleSessions(treatment) : readPriceSessions(treatment);
    if (sm.isSilent(session, column, longest)) results.push(column);
  }
  return results;
}

interface ProceedsOfSecurity {
  readonly column: number;
  /** Price per share in money. */
  readonly proceeds: number;
}

/** Values a held security at its proceeds instead of its close. */
function valueAtProceeds(state: BookState, session: number, { column, proceeds }: ProceedsOfSecurity): void {
  const { weights, slotOf, growth } = state;
  const position = findRowOffset(state, session) + slotOf[column]!;
  weights[position]! *= computeExitFactor({
    ...state,
    growth: weights[position]! < 0 ? toShortTerms(growth) : growth,
    session,
    column,
    proceeds,
  });
}

/** Values held securities whose ticker changed by the price of the new ticker as soon as it has a price bar. */
function valueRenamed(state: BookState, session: number): void {
  const { sm } = state;
  const { all, starts } = sm.actions;
  for (let a = starts[session]!; a < starts[session + 1]!; a++) {
    const { column, action } = all[a]!;
    const relatedColumn = action.type === 'TICKER_CHANGE' && action.related !== null ? sm.columnOf(action.related) : -1;
    const isPaid = state.today?.exits.get(column)?.proceeds !== undefined;
    if (relatedColumn >= 0 && relatedColumn !== column && !isPaid && isHeldColumn(state, column))
      state.renamed.set(column, relatedColumn);
  }
  for (const [column, related] of state.renamed) {
    if (!isHeldColumn(state, column) || !sm.isRenamed(session, column, related)) continue;
    const proceeds = convertPrice(state, session, { priced: related, quoted: column });
    valueAtProceeds(state, session, { column, proceeds });
  }
}

function findFactor(factors: CountFactors | null, place: number): number {
  const position = factors === null ? -1 : factors.places.subarray(0, factors.count).indexOf(place);
  return position < 0 ? 1 : factors!.values[position]!;
}

/** Returns the spun-off securities that the holdings of the previous close receive. */
function listSpunOff(state: BookState, session: number, ofCounts: CountFactors | null): SpunOffSecurity[] {
  const { sm, rates, slotOf, effects, units, index, today, growth } = state;
  return (today?.spinOffs ?? []).flatMap(({ parent, child, units: perUnit }): SpunOffSecurity[] => {
    const heldPosition = findSlot(state, parent);
    if (heldPosition < 0) return [];
    const heldUnits = units[heldPosition]! * findFactor(ofCounts, heldPosition);
    const ratio =
      effects.getTerms(session).splitShares === 'keep' ? 1 : (findEffect(effects, session, parent)?.ratio ?? 1);
    const computeShares = (): number =>
      (heldUnits * index[readPanelRow(sm, session - 1) + parent]!) /
      (findCarriedUnder(sm, effects, session - 1, parent) * rates.rateAt(session - 1, parent));
    const shares = holdsShares(growth) ? heldUnits : computeShares();
    return [{ slot: slotOf[child]!, column: child, since: session, units: shares * ratio * perUnit }];
  });
}

/**
 * Adds spun-off securities with value zero; their value begins with their first price bar, or is what holders receive if
 * the security ends before.
 */
function enterChildren(state: BookState, session: number, spunOff: readonly SpunOffSecurity[]): void {
  const { sm, rates, weights, treatment, effects } = state;
  const droppedColumns: number[] = [];
  const row = findRowOffset(state, session);
  for (const child of state.children) child.units *= findEffect(effects, session, child.column)?.ratio ?? 1;
  state.children.push(...spunOff);
  if (state.children.length === 0) return;
  state.children = state.children
    .map((child) => followTicker(state, session, child))
    .filter((child) => {
      const isPriced = sm.isPriceable(session, child.column, Infinity);
      const proceeds = isPriced ? undefined : state.today?.exits.get(child.column)?.proceeds;
      if (!isPriced && proceeds === undefined) {
        const isWaiting = session - child.since < countStaleSessions(treatment);
        if (!isWaiting) state.silent.push({ session, column: child.column });
        return isWaiting;
      }
      requireRate(rates, sm, session, child.column);
      const price = proceeds ?? findCarriedUnder(sm, effects, session, child.column);
      weights[row + child.slot]! += child.units * price * rates.rateAt(session, child.column);
      expectShares(state, session, child);
      if (treatment.spin_offs === 'drop_after_first_session' && state.isHeld[child.slot] === 0)
        droppedColumns.push(child.column);
      holdSecurity(state, child.slot);
      state.hasNewShares = true;
      return false;
    });
  state.droppedChildren = droppedColumns;
}

/** Returns spun-off shares under the ticker that they have from a session on. */
function followTicker({ sm, slotOf }: BookState, session: number, child: SpunOffSecurity): SpunOffSecurity {
  const change = sm.actions.related.find(
    (one) => one.session === session && one.column === child.column && one.action.type === 'TICKER_CHANGE',
  );
  const column =
    change === undefined || sm.lastBar[readPanelRow(sm, session) + child.column]! >= 0
      ? -1
      : sm.columnOf(change.action.related!);
  return column < 0 ? child : { ...child, column, slot: slotOf[column]! };
}

/**
 * Returns the factor on the divisor for money that left or entered a security at this close without a price change,
 * such as a dividend or a subscription. The money is reinvested in that security.
 */
function computeReinvestmentFactor(state: BookState, session: number): number {
  const { sm, effects: ownEffectTable, ofShorts, slotOf, weights, units, index, path } = state;
  const { columns, rights, starts } = ofShorts;
  const isForAll = ofShorts === ownEffectTable;
  let factor = 1;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    const column = columns[e]!;
    const heldPosition = findSlot(state, column);
    if (heldPosition < 0) continue;
    const weight =
      state.rowSession === session
        ? weights[findRowOffset(state, session) + slotOf[column]!]!
        : (units[heldPosition]! * index[readPanelRow(sm, session) + column]!) / path;
    const cash = weight < 0 || isForAll ? ofShorts.cash[e]! : (findEffect(ownEffectTable, session, column)?.cash ?? 0);
    if (cash > 0) factor -= (weight * cash) / (findCarriedAtEffect(sm, ofShorts, e) + cash);
    if (rights[e]! > 0 && ownEffectTable.terms.rights === 'constituent')
      factor +=
        (weight * ofShorts.ratio[e]! * rights[e]! * ofShorts.subscription[e]!) /
        findCarriedUnder(sm, ofShorts, session - 1, column);
  }
  return factor;
}
