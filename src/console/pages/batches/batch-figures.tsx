import type { BatchAccount, BatchView } from '#clients/typescript/divisor.js';
import { Bars } from '../../components/layout/bars.js';
import { Facts, Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { service, useResource } from '../../state/service.js';
import { formatLabel } from '../../words/labels.js';
import {
  countValues,
  formatBps,
  formatCount,
  formatDecimal,
  formatMoney,
  formatPercent,
  MISSING_TEXT,
} from '../../words/numbers.js';
import { computeMedian } from '../../words/statistics.js';

/** Account with members of its result that the contract does not describe. */
export interface SolvedAccount extends BatchAccount {
  readonly one_more_bp_saves?: number;
  readonly weights?: Readonly<Record<string, number>>;
  readonly shadow_prices?: { readonly tracking_error_bp: number; readonly rows: Readonly<Record<string, number>> };
  readonly deviations?: {
    readonly variance_by_reason: Readonly<Record<string, number>>;
    readonly largest: readonly Deviation[];
  };
}

export interface Deviation {
  readonly identifier: string;
  readonly active_weight: number;
  readonly variance_share: number;
  readonly reason: string;
}

/** Returns true if the optimiser found trades that satisfy the limits of the account. */
export const hasSolution = ({ status }: Pick<BatchAccount, 'status'>): boolean =>
  status !== 'infeasible' && status !== 'refused';

/**
 * Maximum optimality gap at which an account counts as optimal. It is 0.01 basis points of the value of the account.
 */
const GAP_MIN = 1e-6;

/** Formats the status of an account. If its trades are feasible but not optimal, the optimality gap is added. */
export function formatAccountStatus({ status, certificate }: SolvedAccount): string {
  if (status !== 'feasible' || certificate === undefined) return status;
  return certificate.gap <= GAP_MIN ? 'optimal' : `within ${formatBps(certificate.gap)}`;
}

const RULES: Readonly<Record<string, string>> = {
  'tax.budget': 'Budget of net gains',
  'tax.limit': 'Limit of the tax',
  'tax.wash_sales': 'Wash sales',
  cash_minimum: 'Minimum cash',
  cash_maximum: 'Maximum cash',
};

export const formatRule = (rule: string): string => RULES[rule] ?? formatLabel(rule);

/** Rules that cannot be relaxed by an amount. */
const WITHOUT_AMOUNT: ReadonlySet<string> = new Set(['whole_shares', 'minimum_trade', 'tax.wash_sales']);

/** Maximum number of excluded securities listed in a conflict. */
const EXCLUSIONS_SHOWN = 5;

/**
 * Formats a rule that is part of a conflict, with the amount by which it must be relaxed, for example `Exclusions:
 * 4.917% has to stay (VAJM 4.917%)`.
 */
export function formatConflict(
  { conflict_amounts: amounts, conflict_exclusions: staying }: SolvedAccount,
  rule: string,
): string {
  const amount = amounts?.[rule] ?? null;
  if (amount === null) return WITHOUT_AMOUNT.has(rule) ? formatRule(rule) : `${formatRule(rule)}: no amount suffices`;
  const amountText = rule === 'tax.budget' || rule === 'tax.limit' ? formatDecimal(amount) : formatPercent(amount, 3);
  if (rule !== 'exclusions') return `${formatRule(rule)}: ${amountText} more`;
  const all = Object.entries(staying ?? {}).toSorted((a, b) => b[1] - a[1]);
  const names = all.slice(0, EXCLUSIONS_SHOWN).map(([name, weight]) => `${name} ${formatPercent(weight, 3)}`);
  const otherCount = all.length - names.length;
  const list = [...names, ...(otherCount > 0 ? [`${otherCount} more`] : [])].join(', ');
  return `${formatRule(rule)}: ${amountText} has to stay${list === '' ? '' : ` (${list})`}`;
}

/**
 * Returns true if the trades of an infeasible account are rounded. No permitted trades were found, but it is not proved
 * that there are none.
 */
export const isRounded = ({ conflicts = [] }: SolvedAccount): boolean =>
  conflicts.includes('whole_shares') || conflicts.includes('minimum_trade');

export interface ResultProps {
  readonly view: BatchView;
  /** Currency of the index; null until it is loaded. */
  readonly currency: string | null;
}

type ViewProps = Pick<ResultProps, 'view'>;

export const countSolved = ({ accounts, by_status: by }: BatchView): number =>
  accounts - (by['infeasible'] ?? 0) - (by['refused'] ?? 0);

const OUTCOMES: Readonly<Record<string, string>> = {
  optimal: 'Optimal',
  feasible: 'Solved with a gap',
  infeasible: 'No solution',
  refused: 'Refused',
};

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
