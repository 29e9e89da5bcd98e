import type { BatchView } from '#clients/typescript/divisor.js';
import { Bars } from '../../components/bars.js';
import { Facts } from '../../components/facts.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import {
  formatBps,
  formatCount,
  countValues,
  formatDecimal,
  formatMoney,
  MISSING_TEXT,
  formatPercent,
} from '../../words/numbers.js';
import { computeMedian } from '../../words/median.js';
import { GAP_MIN, formatRule, hasSolution } from './account-result.js';

export interface ResultProps {
  readonly view: BatchView;
  /** Currency of the index; null until it is loaded. */
  readonly currency: string | null;
}

type ViewProps = Pick<ResultProps, 'view'>;

/** Returns the number of accounts whose trades satisfy their limits. */
export const countSolved = ({ accounts, by_status: by }: BatchView): number =>
  accounts - (by['infeasible'] ?? 0) - (by['refused'] ?? 0);

const OUTCOMES: Readonly<Record<string, string>> = {
  optimal: 'Optimal',
  feasible: 'Solved with a gap',
  infeasible: 'No solution',
  refused: 'Refused',
};

/** Renders the accounts of a batch by their outcome. */
export const Outcomes = ({ view: { by_status: by } }: ViewProps) => (
  <Section title="Outcome" aside="accounts">
    <Bars
      label="Accounts by outcome"
      isPlain
      bars={Object.entries(OUTCOMES).map(([status, label]) => ({ label, value: by[status] ?? 0 }))}
      format={formatCount}
    />
  </Section>
);

const PERCENTILES: Readonly<Record<string, string>> = {
  p0: 'Lowest',
  p5: '5th',
  p25: '25th',
  p50: 'Median',
  p75: '75th',
  p95: '95th',
  p100: 'Highest',
};

/** Number of solved accounts from which percentiles are shown. With fewer accounts, a list of them is shorter. */
const DISTRIBUTED_MIN = 8;

/**
 * Renders the distribution of the tracking error. Renders nothing if there are only a few accounts, because these are
 * listed.
 */
export const TrackingErrors = ({ view }: ViewProps) =>
  view.tracking_error === null || countSolved(view) < DISTRIBUTED_MIN ? null : (
    <Section
      title="Forecast tracking error after the trades"
      aside={`annual, percentiles of ${countValues(countSolved(view), 'solved account')}`}
    >
      <Bars
        label="Tracking error by percentile"
        isPlain
        bars={Object.entries(view.tracking_error).map(([name, value]) => ({ label: PERCENTILES[name] ?? name, value }))}
        format={(value) => formatPercent(value, 3)}
      />
    </Section>
  );

/** Renders the rules because of which accounts have no solution. */
export function Conflicts({ view: { conflicts } }: ViewProps) {
  const rows = Object.entries(conflicts).toSorted((a, b) => b[1] - a[1]);
  if (rows.length === 0) return null;
  return (
    <Section title="Conflicts" aside="limits that infeasible accounts cannot keep together">
      <Facts facts={rows.map(([row, value]) => [formatRule(row), countValues(value, 'account')] as const)} />
    </Section>
  );
}

/**
 * Returns the median tracking error before the trades. The result of an earlier version does not have it; it is then
 * computed from the accounts, if they are in one block.
 */
function useMedianBefore({ batch_id: id, blocks, tracking_error_before: percentiles }: BatchView): number | null {
  const isComputed = percentiles === undefined && blocks === 1;
  const { data } = useResource(isComputed ? `accounts before ${id}` : null, (signal) =>
    service.value.call('getBatchAccounts', { params: { batch_id: id }, query: { block: 0 }, signal }),
  );
  const errors = (data?.accounts ?? [])
    .filter(hasSolution)
    .flatMap(({ tracking_error_before: error }) => (error === undefined ? [] : [error]));
  return percentiles?.['p50'] ?? (errors.length === 0 ? null : computeMedian(errors));
}

/** Renders the sums over the accounts of a batch. */
export function Figures({ view, currency }: ResultProps) {
  const medianBefore = useMedianBefore(view);
  const formatAmount = (value: number) => formatMoney(formatDecimal(value), currency);
  return (
    <Metrics
      label="Figures of the batch"
      metrics={[
        {
          term: 'Accounts',
          value: formatCount(view.accounts),
          note: `${formatCount(countSolved(view))} solved`,
        },
        {
          term: 'Median forecast tracking error',
          value: formatPercent(view.tracking_error?.['p50']),
          note: medianBefore === null ? 'after the trades' : `after the trades, ${formatPercent(medianBefore)} before`,
          help: 'Annual',
        },
        {
          term: 'Tax of the year',
          value: formatAmount(view.tax),
          note: countValues(view.avoided_wash_sales, 'wash sale avoided', 'wash sales avoided'),
        },
        { term: 'Tax saved', value: formatAmount(view.tax_saved), note: 'against selling oldest lots first' },
        {
          term: 'Costs',
          value: formatAmount(view.costs),
          note: view.value > 0 ? `${formatBps(view.costs / view.value)} of the value` : undefined,
        },
        {
          term: 'Largest gap',
          value: formatGap(view.largest_gap),
          help: 'Largest difference between the tax and costs of an account and the proven minimum, in basis points of its value',
        },
      ]}
    />
  );
}

const formatGap = (gap: number | null): string =>
  gap === null ? MISSING_TEXT : gap <= GAP_MIN ? 'below 0.01 bp' : formatBps(gap);
