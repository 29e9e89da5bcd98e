import { Metrics, type Metric } from '../../components/metrics.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { compact } from '../../words/amounts.js';
import { medianOf } from '../../words/median.js';
import { change, count, formatMoney, signClass } from '../../words/numbers.js';
import { computeDayReturn, computeYearToDate, type Year } from '../names/last-year.js';
import type { Row } from './watched-table.js';

interface WatchedFiguresProps {
  readonly rows: readonly Row[];
  /** Securities of the list that are not in the served store. */
  readonly missing: readonly string[];
}

/** Renders a summary of the securities of a list: gains, the median, the extremes and the total size. */
export function WatchedFigures({ rows, missing }: WatchedFiguresProps) {
  if (rows.some(({ isAwaited }) => isAwaited)) return <FiguresSkeleton />;
  const days = returnsOf(rows, computeDayReturn);
  const years = returnsOf(rows, computeYearToDate);
  const [worst, best] = [years[0], years.at(-1)];
  return (
    <Metrics
      label="Figures of the list"
      metrics={[
        missing.length === 0
          ? { term: 'Securities', value: count(rows.length) }
          : {
              term: 'Securities',
              value: `${count(rows.length)} of ${count(rows.length + missing.length)}`,
              note: missingNote(missing),
            },
        {
          term: 'Gains of the day',
          value: days.length === 0 ? '–' : `${days.filter(({ value }) => value > 0).length} of ${days.length}`,
          ...noteOf(lastDate(rows)),
        },
        ...withSign('Median of the day', middleOf(days), null),
        ...withSign('Median, year to date', middleOf(years), null),
        ...withSign('Highest, year to date', best?.value, best?.identifier ?? null),
        ...withSign('Lowest, year to date', worst?.value, worst?.identifier ?? null),
        ...capitalOf(rows),
      ]}
    />
  );
}

/** Names the missing securities, or their number if there are many. */
const missingNote = (missing: readonly string[]): string =>
  missing.length > NAMED_MAX
    ? `${count(missing.length)} are not in the store`
    : `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} not in the store`;

const NAMED_MAX = 2;

/** Returns the latest date with a price; null if there is none. */
export const lastDate = (rows: readonly Row[]): string | null =>
  rows.reduce<string | null>((last, { end }) => (end !== null && (last === null || end > last) ? end : last), null);

/** Returns the known returns in ascending order. */
const returnsOf = (rows: readonly Row[], over: (year: Year | undefined) => number | null) =>
  rows
    .flatMap(({ identifier, year }) => {
      const value = over(year);
      return value === null ? [] : [{ identifier, value }];
    })
    .toSorted((a, b) => a.value - b.value);

const middleOf = (returns: ReturnType<typeof returnsOf>): number | undefined =>
  returns.length === 0 ? undefined : medianOf(returns.map(({ value }) => value));

const noteOf = (note: string | null) => (note === null ? {} : { note });

const withSign = (term: string, value: number | undefined, note: string | null): readonly Metric[] =>
  value === undefined ? [] : [{ term, value: change(value), kind: signClass(value), ...noteOf(note) }];

/** Returns the sum of the market capitalisations if all have the same currency. */
function capitalOf(rows: readonly Row[]): readonly Metric[] {
  const known = rows.filter(({ market_cap: cap }) => cap !== null);
  const [currency = null, ...others] = new Set(known.map((row) => row.currency));
  if (known.length === 0 || others.length > 0) return [];
  const sum = known.reduce((total, { market_cap: cap }) => total + (cap ?? 0), 0);
  return [{ term: 'Market cap', value: formatMoney(compact(sum), currency), note: 'sum of the list' }];
}
