import { roundShareNumber } from './book-rounding.js';
import { computeDividendPoints, computeReinvestedIncome } from '../index-mathematics/levels.js';
import { computeKeptCash, computeShareFactor } from '../index-mathematics/adjusted-close.js';
import { findCarriedAtEffect, findCarriedUnder } from '../index-mathematics/growth.js';
import { holdsShares } from '../index-mathematics/growth-terms.js';
import { computeOpening, readEffect } from '../index-mathematics/session-effects.js';
import { readPanelRow } from '../market/session-market.js';
import { setUnits } from './book-growth.js';
import { findSlot, type BookState } from './book-state.js';
import { recordHoldings } from './holding-period.js';
import { computePriceLevel } from './share-record.js';
import type { CountFactors } from './security-counts.js';

/** Change of a holding by an adjustment of the previous close. */
interface OpenedHolding {
  readonly units: number;
  /** Value after the adjustment over value before it. */
  readonly factor: number;
}

/**
 * Adjusts the previous close before growth is computed. Share-count changes come first; special dividends, rights
 * issues and splits follow.
 * @param ofCounts factors, by position, of share-count changes after the previous close
 * @returns the factor on the divisor: market value after the adjustment over market value before it
 */
export function openSession(state: BookState, session: number, ofCounts: CountFactors | null = null): number {
  const { effects, units } = state;
  const countGrowth = ofCounts === null ? 1 : changeShares(state, session, ofCounts);
  if (effects.isOpening[session] === 0) return countGrowth;
  const before = state.path * countGrowth;
  const { columns, starts } = effects;
  const opened = new Map<number, OpenedHolding>();
  let openingGrowth = 1;
  let isValueMoved = false;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    const place = findSlot(state, columns[e]!);
    if (place < 0) continue;
    const holding = openHolding(state, session, { effect: e, place });
    const { factor } = holding;
    if (factor !== factor || (factor === 1 && holding.units === units[place])) continue;
    opened.set(place, holding);
    if (factor === 1) continue;
    isValueMoved = true;
    openingGrowth += (computeValueAt(state, session - 1, place) / before) * (factor - 1);
  }
  if (isValueMoved) recordMoves(state, session, { opened, growth: openingGrowth, before });
  for (const [place, holding] of opened) setUnits(state, place, holding.units);
  return openingGrowth * countGrowth;
}

/** Returns a holding after an effect has adjusted the previous close. */
function openHolding(
  state: BookState,
  session: number,
  { effect: e, place }: { readonly effect: number; readonly place: number },
): OpenedHolding {
  const { effects, sm, growth } = state;
  const units = state.units[place]!;
  const before = findCarriedUnder(sm, effects, session - 1, effects.columns[e]!);
  const factor = computeOpening(effects, e, before);
  if (!holdsShares(growth)) return { units: units * factor, factor };
  const shareFactor = computeShareFactor(readEffect(effects, e), before, effects.getTerms(session));
  if (shareFactor === 1) return { units, factor };
  const exact = units * shareFactor;
  const rounded = roundShareNumber(state, sm.sessions[session]!, exact);
  return rounded === exact ? { units: exact, factor } : { units: rounded, factor: factor * (rounded / exact) };
}

/**
 * Adds the shares that special dividends buy at the close, if the security that pays them keeps them. The cash is part of
 * the market value, so the divisor does not change.
 */
export function reinvestCash(state: BookState, session: number): void {
  const { effects, sm, units } = state;
  if (effects.isOpening[session] === 0) return;
  const { columns, starts, cash, special } = effects;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    if (cash[e] === 0 && special[e] === 0) continue;
    const place = findSlot(state, columns[e]!);
    if (place < 0) continue;
    const before = findCarriedUnder(sm, effects, session - 1, columns[e]!);
    const payment = computeKeptCash(readEffect(effects, e), before);
    const price = findCarriedAtEffect(sm, effects, e);
    if (!(payment > 0) || !(price > 0)) continue;
    setUnits(state, place, units[place]! * ((price + payment) / price));
    state.hasNewShares = true;
  }
  if (state.hasNewShares) recordHoldings(state, session, 'close');
}

/** Changes the share-count factors and their records so that rounded index shares result. */
export function roundShareFactors(state: BookState, session: number, factors: CountFactors | null): void {
  if (factors === null || state.input.rounding === undefined) return;
  const { places, values, count } = factors;
  const { before, after } = state.shareCounts!.changes;
  const day = state.sm.sessions[session]!;
  for (let i = 0, changeIndex = after.length - count; i < count; i++, changeIndex++) {
    const exact = state.units[places[i]!]! * values[i]!;
    const rounded = roundShareNumber(state, day, exact);
    if (rounded === exact) continue;
    values[i]! *= rounded / exact;
    after.values()[changeIndex] = before.values()[changeIndex]! * values[i]!;
  }
}

/**
 * Multiplies index shares by the factors of share-count changes.
 * @returns market value after the change over market value before it
 */
function changeShares(state: BookState, session: number, { places, values, count }: CountFactors): number {
  const { path, heldColumns, slotOf, transfers, input, units, sm } = state;
  let countGrowth = 1;
  for (let i = 0; i < count; i++)
    countGrowth += (computeValueAt(state, session - 1, places[i]!) / path) * (values[i]! - 1);
  const isRecorded = !input.isBrief && !input.isSparse;
  if (isRecorded) {
    transfers.keptAt.push(session - input.from);
    transfers.kept.push(1 / countGrowth);
  }
  for (let i = 0; i < count; i++) {
    const heldPosition = places[i]!;
    const factor = values[i]!;
    if (isRecorded) {
      const value = computeValueAt(state, session - 1, heldPosition) / path / countGrowth;
      recordTransfer(state, session, {
        slot: slotOf[heldColumns[heldPosition]!]!,
        dividends: 0,
        moved: value * (1 - factor),
      });
    }
    setUnits(state, heldPosition, roundShareNumber(state, sm.sessions[session]!, units[heldPosition]! * factor));
  }
  return countGrowth;
}

/** Returns the value of a position relative to the start of the holding period. */
function computeValueAt({ sm, units, index, heldColumns }: BookState, session: number, place: number): number {
  return units[place]! * index[readPanelRow(sm, session) + heldColumns[place]!]!;
}

interface Opening {
  /** Adjusted holdings by position. */
  readonly opened: ReadonlyMap<number, OpenedHolding>;
  readonly growth: number;
  /** Total value at the previous close, relative to the start of the holding period. */
  readonly before: number;
}

/** Records the weights that an adjustment of closes moves: the payment of one security is spread over all holdings. */
function recordMoves(state: BookState, session: number, { opened, growth, before }: Opening): void {
  if (state.input.isBrief || state.input.isSparse) return;
  for (let k = 0; k < state.count; k++) {
    const slot = state.heldSlots[k]!;
    const heldPosition = state.places[slot]!;
    const weight = computeValueAt(state, session - 1, heldPosition) / before;
    recordTransfer(state, session, {
      slot,
      dividends: 0,
      moved: weight - (weight * (opened.get(heldPosition)?.factor ?? 1)) / growth,
    });
  }
}

interface Transfer {
  readonly slot: number;
  readonly dividends: number;
  readonly moved: number;
}

function recordTransfer({ transfers, input }: BookState, session: number, { slot, dividends, moved }: Transfer): void {
  transfers.at.push(session - input.from);
  transfers.slot.push(slot);
  transfers.dividends.push(dividends);
  transfers.moved.push(moved);
}

/** Dividends of a session as fractions of the market value at its close. */
interface DividendReturns {
  /** Before and after tax. */
  readonly total: number;
  readonly net: number;
}

/**
 * Adds up and records the dividends of a session.
 * @param drift growth of the holdings from prices
 */
function sumDividends(state: BookState, session: number, drift: number): DividendReturns {
  const { effects, path, input } = state;
  const { columns, starts, income, ordinary, net } = effects;
  const isRecorded = effects.terms.variant !== 'price' && !input.isBrief && !input.isSparse;
  const returns = { total: 0, net: 0 };
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    if (ordinary[e] === 0) continue;
    const heldPosition = findSlot(state, columns[e]!);
    if (heldPosition < 0) continue;
    const worth = computeValueAt(state, session, heldPosition);
    const shareCount = worth / findCarriedAtEffect(state.sm, effects, e);
    if (!(Math.abs(shareCount) < Infinity) || !(path > 0)) continue;
    // short positions pay dividends in full
    returns.total += (shareCount * ordinary[e]!) / path;
    returns.net += (shareCount * (worth < 0 ? ordinary[e]! : net[e]!)) / path;
    if (!isRecorded) continue;
    const dividendReturn = (shareCount * (worth < 0 ? ordinary[e]! : income[e]!)) / path;
    recordTransfer(state, session, { slot: state.slotOf[columns[e]!]!, dividends: dividendReturn * drift, moved: 0 });
  }
  return returns;
}

/**
 * Computes the levels of a book with index shares after the growth of a session: market value over divisor, and the
 * dividends that were reinvested since the first session. Neither index shares nor the divisor depend on ordinary
 * dividends.
 * @param marketValue market value at the close
 */
export function growShares(state: BookState, session: number, marketValue: number): void {
  const { input, drift, gross, value, paths, divisor, growth, reinvestedIncome, periodValue, periodLevel } = state;
  const { levels, points, netPoints } = state.reinvested!;
  const own = levels[growth.variant];
  const position = session - input.from;
  const before = levels.price[position - 1]!;
  const price = before === 0 ? 0 : computePriceLevel(state.stated, marketValue, divisor[position]!);
  state.path = marketValue;
  drift[position] = before === 0 ? 1 : price / before;
  const returns = sumDividends(state, session, drift[position]!);
  reinvestedIncome.total = computeReinvestedIncome(reinvestedIncome.total, returns.total);
  reinvestedIncome.net = computeReinvestedIncome(reinvestedIncome.net, returns.net);
  levels.price[position] = price;
  levels.total[position] = price * reinvestedIncome.total;
  levels.net[position] = price * reinvestedIncome.net;
  points[position] = computeDividendPoints(price, returns.total);
  netPoints[position] = computeDividendPoints(price, returns.net);
  gross[position] = before === 0 ? 1 : own[position]! / own[position - 1]!;
  paths[position] = periodLevel === 0 ? 1 : own[position]! / periodLevel;
  value[position] = input.fills === 'all' ? own[position]! : periodValue * paths[position]!;
}
