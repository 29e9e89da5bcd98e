import { exchangeRates } from '../market/exchange-rates.js';
import type { Book } from './book.js';
import { eventsOn } from './book-events.js';
import { indexTerms } from './index-run.js';
import type { Run } from './run.js';
import { tradesOf } from './trades.js';

/** A holding at the close of a session. Units are on the share basis of the session, prices in the index currency. */
export interface PositionRow {
  readonly session: number;
  readonly slot: number;
  readonly units: number;
  readonly price: number;
  readonly value: number;
  readonly weight: number;
}

/** The most recent rows of the positions panel, by session then name, and how many the whole panel has. */
export function positionRows({ portfolio, document }: Run, rowsMax: number): { readonly rows: readonly PositionRow[]; readonly total: number } {
  const { from, length, columns, weights, value, counts } = portfolio;
  const total = counts.reduce((sum, count) => sum + count, 0);
  let first = length;
  for (let served = 0; first > 0 && served < rowsMax; first--) served += counts[first - 1]!;
  const priceOf = pricesIn(portfolio, document.currency);
  const rows: PositionRow[] = [];
  for (let t = first; t < length; t++) {
    for (let slot = 0; slot < columns.length; slot++) {
      const weight = weights[t * columns.length + slot]!;
      if (!(weight > 0)) continue;
      const price = priceOf(from + t, columns[slot]!);
      const held = weight * value[t]!;
      rows.push({ session: from + t, slot, units: held / price, price, value: held, weight });
    }
  }
  return { rows: rows.slice(-rowsMax), total };
}

export interface TransactionRow {
  readonly session: number;
  readonly slot: number;
  readonly side: 'buy' | 'sell';
  readonly units: number;
  readonly price: number;
  readonly notional: number;
  readonly cost: number;
  readonly reason: 'rebalance' | 'retry' | 'delisting';
}

/** Every trade of the portfolio, by session then name. */
export function portfolioTransactions({ portfolio, index, plan, document }: Run): TransactionRow[] {
  const { sm, from, columns, events } = portfolio;
  const rates = exchangeRates(sm, document.currency);
  const terms = { sm, rates, treatment: index.compositions.treatment, growth: indexTerms(index.compositions) };
  const rate = plan.request.transaction_cost_bps / 10_000;
  const priceOf = pricesIn(portfolio, document.currency);
  const rows: TransactionRow[] = [];
  for (const event of events) {
    const session = from + event.at;
    const exits = event.moves.length > 0 ? eventsOn(terms, session)?.exits : undefined;
    for (const { slot, notional, reason, isFree } of tradesOf(portfolio, event)) {
      const column = columns[slot]!;
      const proceeds = isFree && notional < 0 ? exits?.get(column) : undefined;
      const price = proceeds === undefined ? priceOf(session, column) : proceeds * rates.rateAt(session, column);
      const money = Math.abs(notional);
      rows.push({ session, slot, side: notional > 0 ? 'buy' : 'sell', units: money / price, price, notional: money, cost: isFree ? 0 : rate * money, reason });
    }
  }
  return rows;
}

function pricesIn({ sm }: Book, currency: string): (session: number, column: number) => number {
  const rates = exchangeRates(sm, currency);
  return (session, column) => sm.carriedClose(session, column) * rates.rateAt(session, column);
}
