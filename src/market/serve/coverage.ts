import type { Day } from '#domain/base/time.js';
import type { MarketData, ReferenceTable } from '#domain/market/market-data.js';

/** Sessions between the first and the last price of a security on which it has no price. */
export interface PriceGaps {
  readonly identifier: string;
  /** Positions of the first and of the last price in the dates of the market. */
  readonly start: number;
  readonly end: number;
  readonly missing: number;
  /** Largest number of consecutive sessions without a price. */
  readonly longest: number;
  /** Positions of the first and of the last session without a price. */
  readonly first: number;
  readonly last: number;
  /** Positions of the latest sessions without a price, ascending. At most `SESSIONS_MAX`. */
  readonly sessions: readonly number[];
}

interface CoverageHistory {
  /** Number of securities with a price on each date, [T]. */
  readonly priced: Int32Array;
  /**
   * Number of securities that should have a price on each date, [T]. A security should have one from its first to its
   * last price.
   */
  readonly expected: Int32Array;
  /** Gaps of the securities with the most missing prices. At most `GAPS_MAX`. */
  readonly gaps: readonly PriceGaps[];
  /** Number of securities with missing prices. */
  readonly incomplete: number;
}

/** Maximum number of listed securities with gaps, so that the answer about a store with many gaps is below 1 MB. */
export const GAPS_MAX = 1000;

/** Maximum number of listed sessions of a security, the latest ones. */
export const SESSIONS_MAX = 50;

type Prices = Pick<MarketData, 'dates' | 'identifiers' | 'fields'>;

/**
 * Counts the securities with a price on each date of a market and the securities expected to have one, and finds the
 * missing prices of each security.
 * @cost one read of the panel CLOSE, and one of the column of each listed security
 */
export function countCoverage(market: Prices): CoverageHistory {
  const { dates, identifiers } = market;
  const closes = market.fields.get('CLOSE')!; // every market has this field
  const n = identifiers.length;
  const first = new Int32Array(n).fill(-1);
  const last = new Int32Array(n).fill(-1);
  const prices = new Int32Array(n);
  const pricedCounts = new Int32Array(dates.length);
  for (let t = 0, cell = 0; t < dates.length; t++)
    for (let i = 0; i < n; i++, cell++) {
      if (Number.isNaN(closes[cell]!)) continue;
      pricedCounts[t]!++;
      prices[i]!++;
      if (first[i] === -1) first[i] = t;
      last[i] = t;
    }
  const expectedCounts = new Int32Array(dates.length);
  for (let i = 0; i < n; i++) {
    if (first[i] === -1) continue;
    expectedCounts[first[i]!]!++;
    if (last[i]! + 1 < dates.length) expectedCounts[last[i]! + 1]!--;
  }
  for (let t = 1; t < dates.length; t++) expectedCounts[t]! += expectedCounts[t - 1]!;
  const incomplete = identifiers
    .map((identifier, i) => ({ identifier, column: i, start: first[i]!, end: last[i]! }))
    .filter(({ column, start, end }) => start !== -1 && end - start + 1 > prices[column]!);
  return { priced: pricedCounts, expected: expectedCounts, ...listGaps(market, incomplete, prices) };
}

interface IncompleteSecurity extends Pick<PriceGaps, 'identifier' | 'start' | 'end'> {
  readonly column: number;
}

function listGaps(
  market: Prices,
  incomplete: readonly IncompleteSecurity[],
  prices: Int32Array,
): Pick<CoverageHistory, 'gaps' | 'incomplete'> {
  const countMissing = ({ column, start, end }: IncompleteSecurity) => end - start + 1 - prices[column]!;
  const gaps = incomplete
    .toSorted((a, b) => countMissing(b) - countMissing(a))
    .slice(0, GAPS_MAX)
    .map((security) => readGaps(market, security));
  return { gaps, incomplete: incomplete.length };
}

function readGaps({ identifiers, fields }: Prices, { identifier, column, start, end }: IncompleteSecurity): PriceGaps {
  const closes = fields.get('CLOSE')!; // every market has this field
  const missing: number[] = [];
  let longest = 0;
  let length = 0;
  for (let t = start; t <= end; t++) {
    const isMissing = Number.isNaN(closes[t * identifiers.length + column]!);
    if (isMissing) missing.push(t);
    length = isMissing ? length + 1 : 0;
    longest = Math.max(longest, length);
  }
  return {
    identifier,
    start,
    end,
    missing: missing.length,
    longest,
    first: missing[0]!,
    last: missing.at(-1)!,
    sessions: missing.slice(-SESSIONS_MAX),
  };
}

/** Values of a column of a market. */
export interface FieldCoverage {
  readonly name: string;
  readonly dataset: 'market' | 'reference';
  readonly securities: number;
  /** Number of securities with a close and a value on the last date of the market. */
  readonly securitiesAtEnd: number;
  /** Dates of the first and of the last value. Null for reference values without a date. */
  readonly start: Day | null;
  readonly end: Day | null;
}

type Columns = Pick<MarketData, 'dates' | 'identifiers' | 'fields' | 'reference'>;

/**
 * Counts the securities with a value of each column of a market, and finds the dates of its first and last values.
 * @cost one read of the reference table, and of each panel from its end until every security has a value
 */
export function measureFieldCoverage({ dates, identifiers, fields, reference }: Columns): readonly FieldCoverage[] {
  const shape = { dates, width: identifiers.length };
  const close = fields.get('CLOSE');
  const pricedAtEnd = identifiers.map((_, i) => close !== undefined && hasValueAtEnd(close, i, shape));
  const priced = new Set(identifiers.filter((_, i) => pricedAtEnd[i]));
  return [
    ...[...fields].map(([name, values]) => measurePanel(name, values, { ...shape, pricedAtEnd })),
    ...measureReference(reference, { lastDay: dates.at(-1) ?? -Infinity, priced }),
  ];
}

interface PanelShape {
  readonly dates: MarketData['dates'];
  readonly width: number;
}

interface PanelTerms extends PanelShape {
  /** True for each security with a close on the last date. */
  readonly pricedAtEnd: readonly boolean[];
}

const hasValueAtEnd = (values: Float64Array, i: number, { dates, width }: PanelShape): boolean =>
  !Number.isNaN(values[(dates.length - 1) * width + i] ?? Number.NaN);

/** Measures a panel, [T x N]. */
function measurePanel(name: string, values: Float64Array, terms: PanelTerms): FieldCoverage {
  const { dates, width, pricedAtEnd } = terms;
  const hasValue = (t: number, i: number) => !Number.isNaN(values[t * width + i]!);
  let remaining = Array.from({ length: width }, (_, i) => i);
  let last = -1;
  for (let t = dates.length - 1; t >= 0 && remaining.length > 0; t--) {
    const without = remaining.filter((i) => !hasValue(t, i));
    if (last === -1 && without.length < width) last = t;
    remaining = without;
  }
  const securities = width - remaining.length;
  if (securities === 0) return { name, dataset: 'market', securities, securitiesAtEnd: 0, start: null, end: null };
  const securitiesAtEnd = pricedAtEnd.filter((isPriced, i) => isPriced && hasValueAtEnd(values, i, terms)).length;
  let cell = 0; // the panel has a value, so that the search ends
  while (Number.isNaN(values[cell]!)) cell++;
  const start = dates[Math.floor(cell / width)]!;
  return { name, dataset: 'market', securities, securitiesAtEnd, start, end: dates[last]! };
}

interface ReferenceTerms {
  /** Last date of the market. */
  readonly lastDay: Day;
  /** Securities with a close on the last date. */
  readonly priced: ReadonlySet<string>;
}

/** Measures the reference columns. A row is valid until the next row of its security. */
function measureReference(
  { columns, rows: table }: ReferenceTable,
  { lastDay, priced }: ReferenceTerms,
): readonly FieldCoverage[] {
  const securities = new Int32Array(columns.length);
  const securitiesAtEnd = new Int32Array(columns.length);
  const days = columns.map((): { start: Day; end: Day } => ({ start: Infinity, end: -Infinity }));
  for (const [identifier, rows] of table) {
    const isPriced = priced.has(identifier);
    const latest = rows.findLast(({ validFrom }) => validFrom === null || validFrom <= lastDay);
    columns.forEach((_, k) => {
      if (isPriced && (latest?.values[k] ?? null) !== null) securitiesAtEnd[k]!++;
      const valueRows = rows.filter(({ values }) => (values[k] ?? null) !== null);
      if (valueRows.length > 0) securities[k]!++;
      for (const { validFrom } of valueRows) {
        if (validFrom === null) continue;
        const span = days[k]!;
        span.start = Math.min(span.start, validFrom);
        span.end = Math.max(span.end, validFrom);
      }
    });
  }
  return columns.map((name, k) => {
    const { start, end } = days[k]!;
    const isDated = start <= end;
    return {
      name,
      dataset: 'reference',
      securities: securities[k]!,
      securitiesAtEnd: securitiesAtEnd[k]!,
      start: isDated ? start : null,
      end: isDated ? end : null,
    };
  });
}
