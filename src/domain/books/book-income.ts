import { computeCountedShareFactor, computeOpeningShareFactor } from './book-rounding.js';
import { computeDividendPoints, computeNextLevel } from '../index-mathematics/levels.js';
import { findCarriedAtEffect, findCarriedUnder } from '../index-mathematics/growth.js';
import { computeOpening } from '../index-mathematics/session-effects.js';
import { readPanelRow } from '../market/session-market.js';
import { RETURN_VARIANTS } from '../market/market-data.js';
import { changeUnits } from './book-growth.js';
import { findSlot, type BookState } from './book-state.js';
import type { CountFactors } from './security-counts.js';

/**
 * Adjusts the previous close before growth is computed. Share-count changes come first; special dividends, rights
 * issues and splits that keep index shares follow.
 * @param ofCounts factors, by position, of share-count changes after the previous close
 * @returns the factor on the divisor: market value after the adjustment over market value before it
 */
export function openSession(state: BookState, session: number, ofCounts: CountFactors | null = null): number {
  const { effects } = state;
  const countGrowth = ofCounts === null ? 1 : changeShares(state, session, ofCounts);
  if (effects.isOpening[session] === 0 && state.input.rounding === undefined) return countGrowth;
  const before = state.path * countGrowth;
  const { columns, starts } = effects;
  const factors = new Map<number, number>();
  let openingGrowth = 1;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    const column = columns[e]!;
    const heldPosition = findSlot(state, column);
    if (heldPosition < 0) continue;
    const weight = computeValueAt(state, session - 1, heldPosition) / before;
    const factor =
      computeOpening(effects, e, findCarriedUnder(state.sm, effects, session - 1, column)) *
      computeOpeningShareFactor(state, session, { effect: e, column, weight: weight * countGrowth });
    if (factor === 1 || factor !== factor) continue;
    openingGrowth += weight * (factor - 1);
    factors.set(heldPosition, factor);
  }
  if (factors.size === 0) return countGrowth;
  recordMoves(state, session, { factors, opened: openingGrowth, before });
  for (const [place, factor] of factors) changeUnits(state, place, factor);
  return openingGrowth * countGrowth;
}

/** Changes the share-count factors and their records so that rounded index shares result. */
export function roundShareFactors(state: BookState, session: number, factors: CountFactors | null): void {
  if (factors === null || state.input.rounding === undefined) return;
  const { places, values, count } = factors;
  const { before, after } = state.shareCounts!.changes;
  for (let i = 0, changeIndex = after.length - count; i < count; i++, changeIndex++) {
    const column = state.heldColumns[places[i]!]!;
    const weight = computeValueAt(state, session - 1, places[i]!) / state.path;
    const roundedFactor = computeCountedShareFactor(state, session, { column, weight }, values[i]!);
    if (roundedFactor === 1) continue;
    values[i]! *= roundedFactor;
    after.values()[changeIndex] = before.values()[changeIndex]! * values[i]!;
  }
}

/**
 * Multiplies index shares by the factors of share-count changes.
 * @returns market value after the change over market value before it
 */
function changeShares(state: BookState, session: number, { places, values, count }: CountFactors): number {
  const { path, heldColumns, slotOf, transfers, input } = state;
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
    changeUnits(state, heldPosition, factor);
  }
  return countGrowth;
}

/** Returns the value of a position relative to the start of the holding period. */
function computeValueAt({ sm, units, index, heldColumns }: BookState, session: number, place: number): number {
  return units[place]! * index[readPanelRow(sm, session) + heldColumns[place]!]!;
}

interface Opening {
  /** Adjustment factors by position. */
  readonly factors: ReadonlyMap<number, number>;
  readonly opened: number;
  /** Total value at the previous close, relative to the start of the holding period. */
  readonly before: number;
}

/** Records the weights that an adjustment of closes moves: the payment of one security is spread over all holdings. */
function recordMoves(state: BookState, session: number, { factors, opened, before }: Opening): void {
  if (state.input.isBrief || state.input.isSparse) return;
  for (let k = 0; k < state.count; k++) {
    const slot = state.heldSlots[k]!;
    const heldPosition = state.places[slot]!;
    const weight = computeValueAt(state, session - 1, heldPosition) / before;
    recordTransfer(state, session, {
      slot,
      dividends: 0,
      moved: weight - (weight * (factors.get(heldPosition) ?? 1)) / opened,
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

/**
 * Reinvests the ordinary dividends of a session in all holdings at the close; neither index shares nor the divisor
 * change.
 * @param before growth from the start of the holding period to the previous close
 */
export function reinvestDividends(state: BookState, session: number, before: number): void {
  const { effects, path, carry, input } = state;
  const { columns, starts, income, ordinary, net } = effects;
  const isPriceReturn = effects.terms.variant === 'price';
  const isRecorded = !isPriceReturn && !input.isBrief && !input.isSparse;
  const yields = { price: 0, total: 0, net: 0 };
  let dividendReturn = 0;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    if (ordinary[e] === 0) continue;
    const heldPosition = findSlot(state, columns[e]!);
    if (heldPosition < 0) continue;
    const worth = computeValueAt(state, session, heldPosition);
    const shareCount = worth / findCarriedAtEffect(state.sm, effects, e);
    if (!(Math.abs(shareCount) < Infinity) || !(path > 0)) continue;
    // short positions pay dividends in full
    const receivedDividend = worth < 0 ? ordinary[e]! : net[e]!;
    yields.total += (shareCount * ordinary[e]!) / path;
    yields.net += (shareCount * receivedDividend) / path;
    if (isPriceReturn) continue;
    const reinvestedIncome = shareCount * (worth < 0 ? ordinary[e]! : income[e]!);
    dividendReturn += reinvestedIncome / path;
    if (isRecorded)
      recordTransfer(state, session, {
        slot: state.slotOf[columns[e]!]!,
        dividends: (reinvestedIncome * carry) / before,
        moved: 0,
      });
  }
  state.carry *= 1 + dividendReturn;
  recordLevels(state, session, yields);
}

function recordLevels({ reinvested, input, drift }: BookState, session: number, yields: ReturnVariantYields): void {
  if (reinvested === null) return;
  const { levels, points, netPoints } = reinvested;
  const position = session - input.from;
  for (const variant of RETURN_VARIANTS)
    levels[variant][position] = computeNextLevel(levels[variant][position - 1]!, drift[position]!, yields[variant]);
  points[position] = computeDividendPoints(levels.price[position]!, yields.total);
  netPoints[position] = computeDividendPoints(levels.price[position]!, yields.net);
}

type ReturnVariantYields = Readonly<Record<keyof NonNullable<BookState['reinvested']>['levels'], number>>;
