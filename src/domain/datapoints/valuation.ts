import { computeShareFactor } from '../index-mathematics/adjusted-close.js';
import { findCarriedUnder } from '../index-mathematics/growth.js';
import type { GrowthTerms } from '../index-mathematics/growth-terms.js';
import { createEffectTable, findEffect } from '../index-mathematics/session-effects.js';
import { createExchangeRates } from '../market/exchange-rates.js';
import { createReferenceSpells, findSpell } from '../market/reference-spells.js';
import type { SessionMarket } from '../market/session-market.js';
import { createDividendHistory } from './dividends.js';

/** Kinds of values that corporate actions change: prices, numbers of shares, market values, and dividends by price. */
export type ValuedKind = 'price' | 'shares' | 'money' | 'yield';

export interface ValuedSpan {
  readonly kind: Exclude<ValuedKind, 'yield'>;
  readonly column: number;
  /** Session of the stated value. */
  readonly from: number;
  /** Later session, up to which the security has no bar. */
  readonly to: number;
  /** True if the value is in index currency. */
  readonly isConverted: boolean;
}

/** Values of a suspended security as an index values its holdings. */
export interface Valuation {
  /** Returns the price of a security on a session. Returns NaN before its first bar. */
  priceAt(session: number, column: number): number;
  /** Returns the ordinary dividends of the twelve months up to a session, divided by the price on it. */
  yieldAt(session: number, column: number): number;
  /** Returns the ratio of a value on a session to the value that was stated earlier. */
  ratio(span: ValuedSpan): number;
}

/** @param growth terms by which the index adjusts prices and shares */
export function createValuation(sm: SessionMarket, growth: GrowthTerms): Valuation {
  const table = createEffectTable(sm, growth);
  const rates = createExchangeRates(sm, growth.currency);
  const countSpells = sm.market.fields.has('SHARES_OUTSTANDING')
    ? undefined
    : createReferenceSpells(sm.market, 'SHARES_OUTSTANDING');
  const priceAt = (session: number, column: number): number => findCarriedUnder(sm, table, session, column);
  const computeShares = ({ column, from, to }: ValuedSpan): number => {
    const readCount = (session: number) => findSpell(countSpells?.[column] ?? [], sm.sessions[session]!);
    const [before, after] = [readCount(from), readCount(to)];
    if (typeof before === 'number' && typeof after === 'number' && before !== after) return after / before;
    let factor = 1;
    for (let s = from + 1; s <= to; s++) {
      const effect = findEffect(table, s, column);
      if (effect !== undefined) factor *= computeShareFactor(effect, priceAt(s - 1, column), table.getTerms(s));
    }
    return factor;
  };
  return {
    priceAt,
    yieldAt: (session, column) =>
      createDividendHistory(sm.market).trailing(column, sm.sessions[session]!) / priceAt(session, column),
    ratio(span) {
      const { kind, column, from, to, isConverted } = span;
      const shares = kind === 'price' ? 1 : computeShares(span);
      if (kind === 'shares') return shares;
      const currency = isConverted ? rates.rateAt(to, column) / rates.rateAt(from, column) : 1;
      return (priceAt(to, column) / priceAt(from, column)) * currency * shares;
    },
  };
}
