import { estimatePeriodsPerYear } from '../calendars/periods-per-year.js';
import { toCivilDate, parseValidDay, formatDay } from '../time/days.js';
import { createExchangeRates, refuseRateNotAboveZero, readRateSeries } from '../market/exchange-rates.js';
import { findMajorUnit, createPair } from '../market/currency-codes.js';
import { readSeriesRates } from '../market/interest-rates.js';
import { carryCloses } from '../market/series.js';
import type { OverlayContext } from '../overlays/overlay-type.js';
import { Refusal } from '../refusals/refusal.js';
import { listRebalanceDates } from '../schedule/schedule.js';
import { findLastAtMost } from '../numbers/search.js';
import type { Book, BookOverlay } from './book.js';
import type { Compositions } from './compositions.js';

interface OverlayTerms extends Pick<Compositions, 'sm' | 'first' | 'document'> {
  /** Currency of the underlying index. */
  readonly currency: string;
}

export interface UnderlyingIndex {
  readonly beneath: readonly Pick<Book, 'gross' | 'from'>[];
  readonly shares: BookOverlay['shares'];
  readonly to: number;
}

/** Creates the access to market data and underlying books for an overlay type. */
export function createOverlayContext(
  { sm, first, document, currency }: OverlayTerms,
  { beneath, shares, to }: UnderlyingIndex,
): OverlayContext {
  const days = sm.sessions.slice(first, to + 1);
  const formatDate = (t: number): string => formatDay(days[t]!);
  return {
    indexId: document.id,
    days,
    dateOf: formatDate,
    baseValue: document.base_value,
    periods: estimatePeriodsPerYear(sm.calendar.sessions),
    sources: beneath.map(({ gross, from }) => ({
      growth: gross.slice(first - from, to + 1 - from).fill(1, 0, 1),
      before: gross.slice(1, first - from + 1),
    })),
    rate(id) {
      const series = sm.market.series?.get(id);
      if (series === undefined)
        throw createMissingRefusal(
          `The overlay ${document.id} needs the series ${id}, which the data does not contain.`,
          id,
        );
      const carriedCloses = carryCloses(series, days);
      const position = carriedCloses.findIndex((value) => Number.isNaN(value));
      if (position >= 0)
        throw createMissingRefusal(
          `The overlay ${document.id} needs a value of the series ${id} on or before ${formatDate(position)}, but the series has no such value.`,
          id,
        );
      return readSeriesRates(series, carriedCloses, days);
    },
    exchange(quoted = currency) {
      const rates = readRateSeries(sm, quoted, document.currency)?.slice(first, to + 1);
      const position = rates?.findIndex((rate) => Number.isNaN(rate)) ?? 0;
      if (rates !== undefined && position < 0) return rates;
      const refusal =
        rates && refuseRateNotAboveZero(sm, { from: quoted, to: document.currency, session: first + position });
      if (refusal !== undefined) throw refusal;
      const pair = createPair(quoted, document.currency);
      throw new Refusal(
        'FX_MISSING',
        `The overlay ${document.id} needs the exchange rate ${pair}, which the data does not contain on ${formatDate(position)}.`,
        { pair },
      );
    },
    weightIn: (of) => shares[of]!, // the overlay type declares these currencies
    monthEnds: () => findMonthEnds(sm.calendar.sessions, days),
    resets(rebalance) {
      const dates = listRebalanceDates({
        rebalance,
        calendar: sm.calendar,
        baseDay: parseValidDay(document.base_date),
        from: days[0]! + 1,
        to: days.at(-1)!,
      });
      const resets = new Uint8Array(days.length);
      for (const { session } of dates) resets[findLastAtMost(days, session)] = 1;
      return resets;
    },
  };
}

/** Book whose weights are summed by currency. */
export interface WeightedUnderlying {
  readonly book: Pick<Book, 'sm' | 'from' | 'columns' | 'weights'>;
  /** Currency of the index, which also applies to securities without a currency. */
  readonly currency: string;
  readonly codes: readonly string[];
  /** First and last session of the weights. */
  readonly first: number;
  readonly to: number;
}

/**
 * Returns the weights by currency of the securities after each close, [T] each. Minor units count as their main
 * currency.
 * @cost O(T H)
 */
export function readShares({ book, currency, codes, first, to }: WeightedUnderlying): BookOverlay['shares'] {
  const { sm, from, columns, weights } = book;
  const rates = createExchangeRates(sm, currency);
  const shares = codes.map((code) => [code, new Float64Array(to + 1 - first)] as const);
  const shareByCurrency = new Map(shares.map(([code, share]) => [findMajorUnit(code), share]));
  if (shareByCurrency.size === 0) return {};
  for (let session = first; session <= to; session++)
    for (let slot = 0, position = (session - from) * columns.length; slot < columns.length; slot++, position++) {
      if (weights[position] === 0) continue;
      const share = shareByCurrency.get(findMajorUnit(rates.currencyAt(session, columns[slot]!)));
      if (share !== undefined) share[session - first]! += weights[position]!;
    }
  return Object.fromEntries(shares);
}

function createMissingRefusal(message: string, series: string): Refusal {
  return new Refusal('NO_DATA_AT_DATE', message, { series });
}

/**
 * Returns, for each day, the first month-end session after it, [T]. If no month end follows, returns the last available
 * session.
 */
function findMonthEnds(sessions: Int32Array, days: Int32Array): Int32Array {
  const ends = sessions.filter(
    (day, s) => s + 1 === sessions.length || toCivilDate(day).month !== toCivilDate(sessions[s + 1]!).month,
  );
  let position = 0;
  return days.map((day) => {
    while (position + 1 < ends.length && ends[position]! <= day) position++;
    return ends[position]!;
  });
}
