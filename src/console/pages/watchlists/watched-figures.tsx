import { Metrics, type Metric } from '../../components/metrics.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { formatCompact } from '../../words/amounts.js';
import { formatChange, formatCount, formatMoney, getSignClass } from '../../words/numbers.js';
import { formatNames, summariseList, type ListSummary } from './list-summary.js';
import type { Row } from './watched-columns.js';

interface WatchedFiguresProps {
  readonly rows: readonly Row[];
  /** Last date of the data store; empty if it has no prices. */
  readonly lastDate: string;
}

/** Minimum number of traded securities of which the highest and the lowest return are shown. */
const EXTREMES_MIN = 3;

/**
 * Renders a summary of the securities of a list: how many gained, the median, the extremes and the total size. Only the
 * securities with a price on the last date of the data store count. If there are none, nothing is rendered.
 */
export function WatchedFigures({ rows, lastDate }: WatchedFiguresProps) {
  if (rows.some(({ isAwaited }) => isAwaited)) return <FiguresSkeleton />;
  const summary = summariseList(rows, lastDate);
  const { traded, days, years, medianDay, medianYear, capital } = summary;
  if (traded.length === 0) return null;
  const [worst, best] = years.length < EXTREMES_MIN ? [] : [years[0], years.at(-1)];
  const count: Metric = {
    term: 'With a current price',
    value: `${formatCount(traded.length)} of ${formatCount(rows.length)}`,
    ...createNote(formatOthers(summary)),
  };
  const metrics = [
    count,
    ...createSignedMetric('Median 1-day return', medianDay, formatGains(days)),
    ...createSignedMetric('Median YTD return', medianYear, formatGains(years)),
    ...createSignedMetric('Highest YTD', best?.value ?? null, best?.identifier ?? null),
    ...createSignedMetric('Lowest YTD', worst?.value ?? null, worst?.identifier ?? null),
    ...(capital === null
      ? []
      : [
          {
            term: 'Market cap',
            value: formatMoney(formatCompact(capital.sum), capital.currency),
            note: `sum of ${formatCount(capital.count)}`,
          },
        ]),
  ];
  return <Metrics label="Figures of the list" metrics={metrics} />;
}

/** Formats the number of gains, for example `2 of 12 gained`. */
const formatGains = (returns: ListSummary['days']): string =>
  `${formatCount(returns.filter(({ value }) => value > 0).length)} of ${formatCount(returns.length)} gained`;

/** Names the securities without a current price, for example `BADD ended, 3 not in the store`; null if there is none. */
function formatOthers({ ended, missing }: ListSummary): string | null {
  const parts = [formatPart(ended, 'ended'), formatPart(missing, 'not in the store')].filter((part) => part !== '');
  return parts.length === 0 ? null : parts.join(', ');
}

const formatPart = (rows: readonly Row[], state: string): string =>
  rows.length === 0 ? '' : `${formatNames(rows)} ${state}`;

const createNote = (note: string | null) => (note === null ? {} : { note });

const createSignedMetric = (term: string, value: number | null, note: string | null): readonly Metric[] =>
  value === null ? [] : [{ term, value: formatChange(value), kind: getSignClass(value), ...createNote(note) }];
