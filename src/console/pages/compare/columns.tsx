import type { CompareView, PerformanceView } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { addPoints, addSign } from '../../components/signed.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatDecimal, formatPercent } from '../../words/numbers.js';
import { returnText } from '../../words/returns.js';

type Entry = CompareView['entries'][number];

export interface Row {
  /** Position of the entry. It identifies the row, because a benchmark can have the same id as a run. */
  readonly at: number;
  readonly entry: Entry;
  /** Performance of a run; null for a benchmark that is not a run. */
  readonly performance: PerformanceView | null;
}

/** Describes the levels of an entry, for example `total return, USD`. */
const formatKind = ({ return_variant: variant, currency }: Entry): string => `${returnText(variant)}, ${currency}`;

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'id',
    title: 'Run',
    width: 120,
    grow: 2,
    value: ({ entry }) => entry.index_id,
    show: ({ entry, performance }) => (
      <>
        {performance === null ? (
          <strong>{entry.index_id}</strong>
        ) : (
          <a class="compare-run" href={formatIndexAddress(entry.index_id)}>
            {entry.index_id}
          </a>
        )}{' '}
        {performance === null && <Badge>benchmark</Badge>}
        {entry.stale !== null && (
          <Badge kind="warning" title={entry.stale.reasons.join(' ')}>
            stale
          </Badge>
        )}
      </>
    ),
  },
  {
    id: 'variant',
    title: 'In',
    help: 'Return variant and currency of the levels',
    width: 150,
    priority: 2,
    value: ({ entry }) => formatKind(entry),
  },
  createNumericColumn({
    id: 'total',
    title: 'Return',
    help: 'Return of the portfolio after costs over the range. The page of an index shows its line before costs.',
    width: 92,
    of: ({ entry }) => entry.total_return,
    write: addSign,
  }),
  createNumericColumn({
    id: 'annual',
    title: 'Annualised',
    help: 'Return per 252 sessions of the run, or per 365 on a calendar with weekends',
    width: 96,
    priority: 2,
    of: ({ entry }) => entry.annualised_return,
    write: addSign,
  }),
  createNumericColumn({
    id: 'volatility',
    title: 'Volatility',
    help: 'Realised over the range, annualised',
    width: 88,
    of: ({ entry }) => entry.volatility,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'sharpe',
    title: 'Sharpe',
    width: 76,
    priority: 3,
    of: ({ entry }) => entry.sharpe_ratio,
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'drawdown',
    title: 'Max drawdown',
    width: 116,
    priority: 4,
    of: ({ entry }) => entry.max_drawdown,
    write: formatPercent,
  }),
];

/** Columns if there is no benchmark: how far each portfolio differs from the index that it follows. */
const OWN_INDEX_COLUMNS: readonly Column<Row>[] = [
  createNumericColumn({
    id: 'error',
    title: 'TE to own index',
    help: 'Realised annualised tracking error of the portfolio after costs to the index that it follows, not to the other runs',
    width: 120,
    priority: 5,
    of: ({ performance }) => performance?.metrics.tracking_error ?? null,
    write: formatPercent,
  }),
];

/** Returns the columns relative to the benchmark. */
const createBenchmarkColumns = (benchmark: string): readonly Column<Row>[] => [
  createNumericColumn({
    id: 'excess',
    title: 'Excess return',
    help: `Return minus that of ${benchmark}, not annualised`,
    width: 108,
    priority: 1,
    of: ({ entry }) => entry.benchmark_statistics?.excess_return ?? null,
    write: addPoints,
  }),
  createNumericColumn({
    id: 'error',
    title: 'Realised TE',
    help: `Realised, annualised: to ${benchmark}`,
    width: 108,
    priority: 2,
    of: ({ entry }) => entry.benchmark_statistics?.tracking_error ?? null,
    write: formatPercent,
  }),
];

/** Tracking error that is shown as 0.00%. */
const ERROR_MIN = 0.00005;

/**
 * Returns the columns of the figures. If there is a benchmark, the figures are relative to it. The tracking error to the
 * own index is left out if it is zero for all runs, which is usual without transaction costs.
 */
export function createColumns(benchmark: string | null, rows: readonly Row[]): readonly Column<Row>[] {
  if (benchmark !== null) return [...COLUMNS, ...createBenchmarkColumns(benchmark)];
  const differs = rows.some(({ performance }) => (performance?.metrics.tracking_error ?? 0) >= ERROR_MIN);
  return differs ? [...COLUMNS, ...OWN_INDEX_COLUMNS] : COLUMNS;
}
