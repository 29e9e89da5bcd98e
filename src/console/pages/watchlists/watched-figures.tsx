import { Metrics, type Metric } from '../../components/metrics.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { formatCompact } from '../../words/amounts.js';
import { computeMedian } from '../../words/median.js';
import { formatChange, formatCount, formatMoney, getSignClass } from '../../words/numbers.js';
import { computeDayReturn, computeYearToDate, type YearPrices } from '../names/last-year.js';
import type { Row } from './watched-columns.js';

interface WatchedFiguresProps {
  readonly rows: readonly Row[];
  /** Last date of the data store; empty if it has no prices. */
  readonly lastDate: string;
  /** False if the list of watchlists above states the number of securities in the store. */
  readonly hasCount: boolean;
}

/** Minimum number of traded securities of which the highest and the lowest return are shown. */
const EXTREMES_MIN = 3;

/**
 * Renders a summary of the securities of a list: how many gained, the median, the extremes and the total size. Only the
 * securities with a price on the last date of the data store count.
 */
export function WatchedFigures({ rows: listedRows, lastDate, hasCount }: WatchedFiguresProps) {
  const rows = listedRows.filter(({ isMissing }) => !isMissing);
  const missing = listedRows.filter(({ isMissing }) => isMissing).map(({ identifier }) => identifier);
  if (rows.some(({ isAwaited }) => isAwaited)) return <FiguresSkeleton />;
  const tradedRows = rows.filter(({ end }) => end === lastDate);
  const endedCount = rows.length - tradedRows.length;
  const days = listReturns(tradedRows, computeDayReturn);
  const years = listReturns(tradedRows, computeYearToDate);
  const [worst, best] = years.length < EXTREMES_MIN ? [] : [years[0], years.at(-1)];
  const notes = [
    ...(missing.length === 0 ? [] : [formatMissing(missing)]),
    ...(endedCount === 0
      ? []
      : [lastDate === '' ? 'the store has no price' : `${formatCount(endedCount)} ended before ${lastDate}`]),
  ];
  const count: Metric = {
    term: 'In the store',
    value: `${formatCount(rows.length)} of ${formatCount(listedRows.length)}`,
    ...createNote(notes.length === 0 ? null : notes.join('; ')),
  };
  const metrics = [
    ...(hasCount ? [count] : []),
    ...createSignedMetric('Median 1-day return', findMedian(days), formatGains(days)),
    ...createSignedMetric('Median YTD return', findMedian(years), null),
    ...createSignedMetric('Highest YTD', best?.value, best?.identifier ?? null),
    ...createSignedMetric('Lowest YTD', worst?.value, worst?.identifier ?? null),
    ...createCapitalMetric(tradedRows),
  ];
  return metrics.length === 0 ? null : <Metrics label="Figures of the list" metrics={metrics} />;
}

/** Formats the number of gains, for example `2 of 12 gained`. */
const formatGains = (returns: ReturnType<typeof listReturns>): string =>
  `${formatCount(returns.filter(({ value }) => value > 0).length)} of ${formatCount(returns.length)} gained`;

/** Names the missing securities. If there are many, gives only their number. */
const formatMissing = (missing: readonly string[]): string =>
  missing.length > NAMED_MAX
    ? `${formatCount(missing.length)} are not in the store`
    : `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} not in the store`;

const NAMED_MAX = 2;

/** Returns the known returns in ascending order. */
const listReturns = (rows: readonly Row[], over: (year: YearPrices | undefined) => number | null) =>
  rows
    .flatMap(({ identifier, year }) => {
      const value = over(year);
      return value === null ? [] : [{ identifier, value }];
    })
    .toSorted((a, b) => a.value - b.value);

const findMedian = (returns: ReturnType<typeof listReturns>): number | undefined =>
  returns.length === 0 ? undefined : computeMedian(returns.map(({ value }) => value));

const createNote = (note: string | null) => (note === null ? {} : { note });

const createSignedMetric = (term: string, value: number | undefined, note: string | null): readonly Metric[] =>
  value === undefined ? [] : [{ term, value: formatChange(value), kind: getSignClass(value), ...createNote(note) }];

/** Returns the sum of the market capitalisations. Returns nothing if they have different currencies. */
function createCapitalMetric(rows: readonly Row[]): readonly Metric[] {
  const knownRows = rows.filter(({ market_cap: cap }) => cap !== null);
  const [currency = null, ...others] = new Set(knownRows.map((row) => row.currency));
  if (knownRows.length === 0 || others.length > 0) return [];
  const sum = knownRows.reduce((total, { market_cap: cap }) => total + (cap ?? 0), 0);
  return [{ term: 'Market cap', value: formatMoney(formatCompact(sum), currency), note: 'sum of the list' }];
}
