import { carryClose, computeShareFactor } from '../index-mathematics/adjusted-close.js';
import { findCarriedUnder } from '../index-mathematics/growth.js';
import type { GrowthTerms } from '../index-mathematics/growth-terms.js';
import { createEffectTable, findEffect, findEffectAfter } from '../index-mathematics/session-effects.js';
import { NO_EFFECT } from '../index-mathematics/session-effect.js';
import { createExchangeRates } from '../market/exchange-rates.js';
import { createReferenceSpells, findSpell } from '../market/reference-spells.js';
import type { SessionMarket } from '../market/session-market.js';
import type { Day } from '../time/days.js';
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

/** Value of a bar between two sessions, which belongs to the later one. */
export interface MergedValue {
  readonly kind: ValuedKind;
  readonly column: number;
  readonly session: number;
  /** Day of the bar. */
  readonly day: Day;
  readonly value: number;
}

/** Returns the kind of a datapoint whose values corporate actions change; null for other datapoints. */
export function findValuedKind(name: string): ValuedKind | null {
  if (name === 'CLOSE') return 'price';
  if (name === 'SHARES_OUTSTANDING') return 'shares';
  if (name === 'DIVIDEND_YIELD') return 'yield';
  return name === 'MARKET_CAP' || name === 'FREE_FLOAT_MARKET_CAP' ? 'money' : null;
}

/** Values of a suspended security as an index values its holdings. */
export interface Valuation {
  /** Returns the price of a security on a session. Returns NaN before its first bar. */
  priceAt(session: number, column: number): number;
  /** Returns the ordinary dividends of the twelve months up to a session, divided by the price on it. */
  yieldAt(session: number, column: number): number;
  /** Returns the ratio of a value on a session to the value that was stated earlier. */
  ratio(span: ValuedSpan): number;
  /** Returns a value of an earlier day of a session after the events since. */
  onSession(merged: MergedValue): number;
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
  const yieldAt = (session: number, column: number): number =>
    createDividendHistory(sm.market).trailing(column, sm.sessions[session]!) / priceAt(session, column);
  return {
    priceAt,
    yieldAt,
    onSession({ kind, column, session, day, value }) {
      const stated = { column, stated: day, wanted: sm.sessions[session]!, session };
      const effect = findEffectAfter(sm, table.getTerms(session), { session, column, day }) ?? NO_EFFECT;
      const isChanged = effect !== NO_EFFECT || rates.convert(1, stated) !== 1;
      if (!isChanged) return value;
      if (kind === 'yield') return yieldAt(session, column);
      if (kind === 'price') return rates.convert(carryClose(effect, value), stated);
      const close = sm.closeAt(session, column);
      const shares = value * computeShareFactor(effect, close, table.getTerms(session));
      return kind === 'shares' ? shares : rates.convert(shares * (carryClose(effect, close) / close), stated);
    },
    ratio(span) {
      const { kind, column, from, to, isConverted } = span;
      const shares = kind === 'price' ? 1 : computeShares(span);
      if (kind === 'shares') return shares;
      const currency = isConverted ? rates.rateAt(to, column) / rates.rateAt(from, column) : 1;
      return (priceAt(to, column) / priceAt(from, column)) * currency * shares;
    },
  };
}
