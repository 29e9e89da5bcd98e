import { allocateRetainedFloats, allocateRetainedMemory } from '#base/memory/retained-memory.js';
import { createExchangeRates } from '../market/exchange-rates.js';
import { findCarriedUnder, readCarriedClose } from '../index-mathematics/growth.js';
import { findEffect, createEffectTable } from '../index-mathematics/session-effects.js';
import { toShortTerms, type GrowthTerms } from '../index-mathematics/growth-terms.js';
import { readSecurityCurrency, type Book, type BookEvent, type Gap } from '../books/book.js';
import type { Compositions } from '../books/compositions.js';
import { listEvents, type EventTerms } from '../books/book-events.js';
import { createIndexTerms } from '../books/index-run.js';
import type { Run } from './run.js';

/**
 * Holdings at closes in columnar form, sorted by date, then slot. Units, value and weight of a short position are
 * negative. Units are on the share basis of the date, prices in the index currency.
 */
export interface Positions {
  readonly count: number;
  readonly session: Int32Array;
  readonly slot: Int32Array;
  readonly units: Float64Array;
  readonly price: Float64Array;
  readonly value: Float64Array;
  readonly weight: Float64Array;
  /** Number of positions on all dates of the run; `count` of them are in the columns. */
  readonly total: number;
}

/** Returns the most recent positions of a portfolio, at most `rowsMax`. */
export function selectLatestPositions(
  { portfolio, document, index }: Pick<TradedRun, 'portfolio' | 'document' | 'index'>,
  rowsMax: number,
): Positions {
  const { from, length, columns, weights, value, counts } = portfolio;
  const total = counts.reduce((sum, count) => sum + count, 0);
  const count = Math.min(total, rowsMax);
  const memory = allocateRetainedMemory(40 * count);
  const positions = {
    count,
    total,
    units: new Float64Array(memory, 0, count),
    price: new Float64Array(memory, 8 * count, count),
    value: new Float64Array(memory, 16 * count, count),
    weight: new Float64Array(memory, 24 * count, count),
    session: new Int32Array(memory, 32 * count, count),
    slot: new Int32Array(memory, 36 * count, count),
  };
  const growth = createIndexTerms(index.compositions);
  const readPrice = createPriceReader(portfolio, { ...growth, currency: readSecurityCurrency(portfolio, document) });
  let row = count;
  for (let t = length - 1; row > 0; t--) {
    for (let slot = columns.length - 1; slot >= 0 && row > 0; slot--) {
      const weight = weights[t * columns.length + slot]!;
      if (weight === 0) continue;
      row--;
      const price = readPrice(from + t, columns[slot]!);
      const money = weight * value[t]!;
      positions.session[row] = from + t;
      positions.slot[row] = slot;
      positions.units[row] = money / price;
      positions.price[row] = price;
      positions.value[row] = money;
      positions.weight[row] = weight;
    }
  }
  return positions;
}

/** Trades with the market and the terms of their prices. */
export interface TradedRun extends Pick<Run, 'portfolio' | 'document' | 'trades'> {
  readonly index: { readonly compositions: Pick<Compositions, 'treatment' | 'document' | 'outside'> };
}

/**
 * Returns the price of each trade of a run, from trade index `first` on. If the security left the book, the price is
 * what its holders received, including cash of the session.
 */
export function listTradePrices({ portfolio, index, document, trades }: TradedRun, first = 0): Float64Array {
  const { sm, from, columns, events } = portfolio;
  const rates = createExchangeRates(sm, readSecurityCurrency(portfolio, document));
  const { treatment, outside } = index.compositions;
  const growth = createIndexTerms(index.compositions);
  const readPrice = createPriceReader(portfolio, { ...growth, currency: readSecurityCurrency(portfolio, document) });
  const terms = { sm, rates, treatment, outside, growth };
  const price = allocateRetainedFloats(trades.count - first);
  let e = 0;
  for (let i = first; i < trades.count; i++) {
    const position = trades.at[i]!;
    const slot = trades.slot[i]!;
    while (events[e]!.at < position) e++;
    const left = trades.isFree[i] === 1 ? computeLeavingWeight(events[e]!, slot) : 0;
    // If a position left the book, the trade that closes it has the price of the proceeds.
    price[i - first] = !(left * trades.notional[i]! < 0)
      ? readPrice(from + position, columns[slot]!)
      : computeLeavingPrice(terms, { session: from + position, column: columns[slot]! }, left < 0);
  }
  return price;
}

/**
 * Returns the weight of a security that left the book or converted into another security. Returns 0 if it did neither.
 */
function computeLeavingWeight({ conversions, exits }: BookEvent, slot: number): number {
  const exit = exits.find((move) => move.slot === slot);
  return (conversions.find((conversion) => conversion.slot === slot)?.weight ?? 0) - (exit?.change ?? 0);
}

function computeLeavingPrice(terms: EventTerms, { session, column }: Gap, isShort: boolean): number {
  const { sm, rates, growth } = terms;
  const proceeds =
    listEvents(terms, session)?.exits.get(column)?.proceeds ?? readCarriedClose(sm, growth, session, column);
  const cash = findEffect(createEffectTable(sm, isShort ? toShortTerms(growth) : growth), session, column)?.cash ?? 0;
  return (proceeds + cash) * rates.rateAt(session, column);
}

function createPriceReader({ sm }: Book, growth: GrowthTerms): (session: number, column: number) => number {
  const rates = createExchangeRates(sm, growth.currency);
  const table = createEffectTable(sm, growth);
  return (session, column) => findCarriedUnder(sm, table, session, column) * rates.rateAt(session, column);
}
