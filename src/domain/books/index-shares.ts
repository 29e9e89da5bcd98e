import { readCarriedClose } from '../index-mathematics/growth.js';
import type { GrowthTerms } from '../index-mathematics/growth-terms.js';
import { createExchangeRates } from '../market/exchange-rates.js';
import { ACTION_KINDS, readReference, type MarketData } from '../market/market-data.js';
import { findLastAtMost } from '../numbers/search.js';
import type { SessionMarket } from '../market/session-market.js';
import type { Day } from '../time/days.js';
import type { Book } from './book.js';
import { restoreDecided, type Composition, type Compositions } from './compositions.js';
import { createIndexTerms } from './index-run.js';
import { createShareReader, toShareTime } from './share-record.js';

/** Composition expressed in numbers of shares. */
export interface IndexShares {
  /** Reference date: selection and weighting use data up to this day. */
  readonly reference: Day;
  /** Day whose closes converted target weights into index shares. */
  readonly priced: Day;
  readonly targets: Pick<Composition, 'columns' | 'weights'>;
  /** Index shares at the effective close, [n]; null if the index has no shares. */
  readonly shares: Float64Array | null;
  /** Ratio of index shares to float-adjusted shares; 0 without a share count, [n]. */
  readonly factors: Float64Array | null;
}

export type IndexSharesReader = (composition: Composition) => IndexShares;

/**
 * Returns a function that computes the index shares of compositions. Index shares are the market value of a constituent
 * over its price, at the effective close.
 */
export function createIndexShares(book: Book, index: Pick<Compositions, 'treatment' | 'document'>): IndexSharesReader {
  const sharesByComposition = sharesCache.get(book) ?? new WeakMap<Composition, IndexShares>();
  sharesCache.set(book, sharesByComposition);
  const readShares = countShares(book, createIndexTerms(index));
  return (composition) => {
    const shares = sharesByComposition.get(composition) ?? readShares(composition);
    sharesByComposition.set(composition, shares);
    return shares;
  };
}

/** Index shares by composition of a book. They are cached, because the record and the result both use them. */
const sharesCache = new WeakMap<Book, WeakMap<Composition, IndexShares>>();

function countShares(book: Book, growth: GrowthTerms): IndexSharesReader {
  const { sm, from, value, divisor, exactDivisor, reinvested, overlay } = book;
  const level = reinvested?.levels.price ?? value;
  const readHeld = book.shares && createShareReader(book.shares, book.columns.length);
  return (composition) => {
    const { session, columns } = composition;
    const position = session - from;
    const decisionDates = readDecisionDates(sm, composition);
    if (overlay !== undefined || position < 0 || position >= book.length)
      return { ...decisionDates, shares: null, factors: null };
    const rates = createExchangeRates(sm, growth.currency);
    const held = readHeld?.(toShareTime(position, 'after'));
    const computeShares = (weight: number, k: number): number =>
      (weight * level[position]! * divisor[position]! * (exactDivisor?.[position] ?? 1)) /
      (readCarriedClose(sm, growth, session, columns[k]!) * rates.rateAt(session, columns[k]!));
    const shares = composition.weights.map(
      (weight, k) => held?.[findLastAtMost(book.columns, columns[k]!)] || computeShares(weight, k),
    );
    const readFloatShares = createFloatShareReader(sm, session);
    const factors = shares.map((shareCount, k) => {
      const count = readFloatShares(columns[k]!);
      return count > 0 ? shareCount / count : 0;
    });
    return { ...decisionDates, shares, factors };
  };
}

/**
 * Returns a function that returns compositions without index shares. It is used for a strategy that optimises or trades
 * its weights.
 */
export function omitIndexShares(sm: SessionMarket): IndexSharesReader {
  return (composition) => ({ ...readDecisionDates(sm, composition), shares: null, factors: null });
}

function readDecisionDates(
  { sessions }: SessionMarket,
  composition: Composition,
): Pick<IndexShares, 'reference' | 'priced' | 'targets'> {
  const { decision, pricing = decision } = composition;
  return { reference: sessions[decision]!, priced: sessions[pricing]!, targets: restoreDecided(composition) };
}

/** Maximum age in sessions of a share count. */
const COUNT_SESSIONS_MAX = 5;

/**
 * Returns a function that computes shares outstanding times free float. Free float is 1 by default. The result is NaN
 * without a share count.
 */
function createFloatShareReader(sm: SessionMarket, session: number): (column: number) => number {
  const { fields, reference } = sm.market;
  const findLatest = (panel: Float64Array | undefined, column: number): number => {
    if (panel === undefined) return Number.NaN;
    for (let s = session; s >= Math.max(sm.first, session - COUNT_SESSIONS_MAX); s--) {
      const value = sm.valueAt(panel, s, column);
      if (value !== value) continue;
      const stated = sm.rows.dayOf(panel, s, column);
      return panel === outstanding ? value * growCount(sm.identifiers[column]!, stated) : value;
    }
    return Number.NaN;
  };
  const growCount = createCountGrowth(sm.market, sm.sessions[session]!);
  const outstanding = fields.get('SHARES_OUTSTANDING');
  const float = fields.get('FREE_FLOAT');
  const isStated = reference.columns.includes('FREE_FLOAT');
  return (column) => {
    const latestFloat = findLatest(float, column);
    const statedFloat = isStated
      ? readReference(reference, sm.identifiers[column]!, 'FREE_FLOAT', sm.sessions[session]!)
      : null;
    return (
      findLatest(outstanding, column) *
      (latestFloat === latestFloat ? latestFloat : typeof statedFloat === 'number' ? statedFloat : 1)
    );
  };
}

/**
 * Returns a function that computes the factor of splits and rights issues on the share count of a security from the day
 * of a count to a later day.
 */
function createCountGrowth(
  { actions, adjustment }: MarketData,
  until: Day,
): (identifier: string, stated: Day) => number {
  const factors = new Map<string, { readonly day: Day; readonly factor: number }[]>();
  for (const { type, identifier, exDay, status, value, subscriptionPrice } of actions) {
    const isSplit = ACTION_KINDS[type] === 'ratio' && adjustment === 'none';
    const isIssue = type === 'RIGHTS_ISSUE' && subscriptionPrice !== null && adjustment !== 'total';
    if (status === 'cancelled' || exDay > until || !(isSplit || isIssue)) continue;
    const own = factors.get(identifier) ?? [];
    own.push({ day: exDay, factor: isSplit ? value : 1 + value });
    factors.set(identifier, own);
  }
  return (identifier, stated) =>
    (factors.get(identifier) ?? []).reduce((growth, { day, factor }) => (day > stated ? growth * factor : growth), 1);
}

/**
 * Returns a function that reads shares outstanding and free float of a security as known on a day. An unknown share
 * count is NaN, an unknown free float is 1.
 */
export function readSharesOutstanding(
  market: MarketData,
  day: Day,
): (identifier: string) => { readonly shares: number; readonly float: number } {
  const { fields, reference, dates, identifiers } = market;
  const last = findLastAtMost(dates, day);
  const columnByIdentifier = new Map(identifiers.map((identifier, column) => [identifier, column]));
  const findLatest = (panel: Float64Array | undefined, column: number): number => {
    if (panel === undefined) return Number.NaN;
    for (let row = last; row >= Math.max(0, last - COUNT_SESSIONS_MAX); row--) {
      const value = panel[row * identifiers.length + column]!;
      if (value !== value) continue;
      return panel === outstanding ? value * growCount(identifiers[column]!, dates[row]!) : value;
    }
    return Number.NaN;
  };
  const growCount = createCountGrowth(market, day);
  const [outstanding, float] = [fields.get('SHARES_OUTSTANDING'), fields.get('FREE_FLOAT')];
  const isStated = reference.columns.includes('FREE_FLOAT');
  return (identifier) => {
    const column = columnByIdentifier.get(identifier);
    const shares = column === undefined ? Number.NaN : findLatest(outstanding, column);
    if (column === undefined || shares !== shares) return { shares: Number.NaN, float: Number.NaN };
    const latestFloat = findLatest(float, column);
    const statedFloat = isStated ? readReference(reference, identifier, 'FREE_FLOAT', day) : null;
    return {
      shares,
      float: latestFloat === latestFloat ? latestFloat : typeof statedFloat === 'number' ? statedFloat : 1,
    };
  };
}
