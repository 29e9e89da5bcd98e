import type { Market } from './market.js';
import { proportional, sum, type Weights } from './plain.js';

export interface Composition {
  readonly date: string;
  readonly weights: Weights;
}

export interface PlainRun {
  /** Session of the base date. */
  readonly base: number;
  /** Level by session from the base on. */
  readonly levels: readonly number[];
  /** Weights at the effective closes. */
  readonly compositions: readonly Composition[];
}

/** Day inside a month on which an index is rebalanced. */
export type Anchor =
  | { readonly day: 'first' | 'last' }
  | { readonly day: 'weekday'; readonly weekday: number; readonly nth: number };

export interface Terms {
  readonly months: readonly number[];
  readonly anchor: Anchor;
  /** Sessions from the decision to the effective close. */
  readonly lag?: number;
  readonly dividends?: 'price' | 'total';
  /** Held shares in place of shares from weights: the shares of one unit of each security. */
  readonly basket?: (security: number, t: number) => number;
  /** Multiplies the shares of a basket at a split. */
  readonly splitsKeepWeight?: boolean;
  /** Target weights at the close of a session. */
  decide(t: number, members: ReadonlySet<number> | null): Weights;
}

const BASE_VALUE = 1000;

/** Sessions at whose close the index is rebalanced, after the base. */
export function rebalanceSessions(
  dates: readonly string[],
  { months, anchor }: Pick<Terms, 'months' | 'anchor'>,
): number[] {
  const monthsOfStore = [...new Set(dates.map((date) => date.slice(0, 7)))];
  return monthsOfStore.flatMap((month) => {
    if (!months.includes(Number(month.slice(5)))) return [];
    const inMonth = dates.flatMap((date, t) => (date.startsWith(month) ? [t] : []));
    if (anchor.day === 'first') return [inMonth[0]!];
    if (anchor.day !== 'weekday') return [inMonth.at(-1)!];
    const wanted = nthWeekday(month, anchor);
    const t = dates.findIndex((date) => date >= wanted); // A holiday moves it to the session after.
    return t < 0 ? [] : [t];
  });
}

function nthWeekday(month: string, { weekday, nth }: { readonly weekday: number; readonly nth: number }): string {
  const days = Array.from({ length: 31 }, (_, k) => `${month}-${String(k + 1).padStart(2, '0')}`).filter((day) => {
    const date = new Date(`${day}T00:00:00Z`);
    return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day) && date.getUTCDay() === weekday;
  });
  return nth === 5 ? days.at(-1)! : days[nth - 1]!;
}

/**
 * An index of securities: shares follow from target weights and the closes of the decision, change with splits, and are
 * scaled at the effective close so that the level is continuous.
 */
export function runIndex(market: Market, baseDate: string, terms: Terms): PlainRun {
  const { dates, close, split } = market.store;
  const base = dates.findIndex((date) => date >= baseDate);
  const effective = new Set([base, ...rebalanceSessions(dates, terms).filter((t) => t > base)]);
  const { lag = 0, dividends = 'price' } = terms;
  const compositions: Composition[] = [];
  const levels: number[] = [];
  let shares = new Map<number, number>();
  let members: ReadonlySet<number> | null = null;
  let level = BASE_VALUE;
  for (let t = base; t < dates.length; t++) {
    if (t > base) {
      const grown = nextClose(market, shares, t, { terms, dividends });
      level *= grown.growth;
      shares = grown.shares;
    }
    levels.push(level);
    if (!effective.has(t)) continue;
    const decision = t - lag;
    const weights = terms.decide(decision, members);
    members = new Set(weights.keys());
    shares = new Map(
      [...weights].map(([i, weight]) => {
        let own = terms.basket?.(i, decision) ?? weight / close[i]![decision]!;
        for (let s = decision + 1; s <= t; s++) own *= split[i]![s]!;
        return [i, own];
      }),
    );
    compositions.push({
      date: dates[t]!,
      weights: proportional([...shares.keys()], (i) => shares.get(i)! * close[i]![t]!),
    });
  }
  return { base, levels, compositions };
}

/** Growth of the level to a close, and the shares held then. */
function nextClose(
  { store: { close, split }, dividend }: Market,
  before: ReadonlyMap<number, number>,
  t: number,
  { terms, dividends }: { readonly terms: Terms; readonly dividends: 'price' | 'total' },
) {
  const keepsShares = terms.basket !== undefined && terms.splitsKeepWeight !== true;
  const ratio = (i: number): number => split[i]![t]!;
  const shares = new Map([...before].map(([i, own]) => [i, keepsShares ? own : own * ratio(i)]));
  // The close before on the basis of this session: a security whose shares do not follow the split has less weight then.
  const opening = sum([...shares].map(([i, own]) => (own * close[i]![t - 1]!) / ratio(i)));
  const value = sum([...shares].map(([i, own]) => own * close[i]![t]!));
  const cash = dividends === 'total' ? sum([...shares].map(([i, own]) => own * dividend(i, t))) : 0;
  return { growth: (value + cash) / opening, shares };
}
