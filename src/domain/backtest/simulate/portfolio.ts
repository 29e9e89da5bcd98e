import { exchangeRates } from '../../market/exchange-rates.js';
import { effectOn, effectTable } from '../../market/growth.js';
import type { Book } from './book.js';
import type { Compositions } from './compositions.js';
import { eventsOn } from './book-events.js';
import { indexTerms } from './index-run.js';
import type { Run } from '../run.js';

/** Holdings at closes as columns, by date then slot. Units are on the share basis of the date, prices in the index currency. */
export interface Positions {
  readonly count: number;
  readonly session: Int32Array;
  readonly slot: Int32Array;
  readonly units: Float64Array;
  readonly price: Float64Array;
  readonly value: Float64Array;
  readonly weight: Float64Array;
  /** Rows of the whole panel. */
  readonly total: number;
}

/** The most recent rows of the positions panel. */
export function latestPositions({ portfolio, document }: Pick<Run, 'portfolio' | 'document'>, rowsMax: number): Positions {
  const { from, length, columns, weights, value, counts } = portfolio;
  const total = counts.reduce((sum, count) => sum + count, 0);
  const count = Math.min(total, rowsMax);
  const positions = {
    count, total,
    session: new Int32Array(count),
    slot: new Int32Array(count),
    units: new Float64Array(count),
    price: new Float64Array(count),
    value: new Float64Array(count),
    weight: new Float64Array(count),
  };
  const priceOf = pricesIn(portfolio, document.currency);
  let row = count;
  for (let t = length - 1; row > 0; t--) {
    for (let slot = columns.length - 1; slot >= 0 && row > 0; slot--) {
      const weight = weights[t * columns.length + slot]!;
      if (!(weight > 0)) continue;
      row--;
      const price = priceOf(from + t, columns[slot]!);
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

/** Trades with the market and the terms that price them. */
export interface TradedRun extends Pick<Run, 'portfolio' | 'document' | 'trades'> {
  readonly index: { readonly compositions: Pick<Compositions, 'treatment' | 'document'> };
}

/**
 * Prices of the trades of a run from one on, one per trade. A name that left is priced at what it brought, cash of the session
 * included.
 */
export function tradePrices({ portfolio, index, document, trades }: TradedRun, first = 0): Float64Array {
  const { sm, from, columns } = portfolio;
  const rates = exchangeRates(sm, document.currency);
  const priceOf = pricesIn(portfolio, document.currency);
  const terms = { sm, rates, treatment: index.compositions.treatment, growth: indexTerms(index.compositions) };
  const price = new Float64Array(trades.count - first);
  for (let i = first; i < trades.count; i++) {
    const session = from + trades.at[i]!;
    const column = columns[trades.slot[i]!]!;
    if (trades.isFree[i] === 1 && trades.notional[i]! < 0) {
      const proceeds = eventsOn(terms, session)?.exits.get(column) ?? sm.carriedClose(session, column);
      const cash = effectOn(effectTable(sm, terms.growth), session, column)?.cash ?? 0;
      price[i - first] = (proceeds + cash) * rates.rateAt(session, column);
    } else {
      price[i - first] = priceOf(session, column);
    }
  }
  return price;
}

function pricesIn({ sm }: Book, currency: string): (session: number, column: number) => number {
  const rates = exchangeRates(sm, currency);
  if (!rates.isForeign) return sm.carriedClose;
  return (session, column) => sm.carriedClose(session, column) * rates.rateAt(session, column);
}
