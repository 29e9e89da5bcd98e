import type { RebalancedName, RebalanceView } from '#clients/typescript/divisor.js';
import { Metrics } from '../../components/metrics.js';
import { formatFirstNames } from '../../words/first-names.js';
import { formatCompact } from '../../words/amounts.js';
import { formatCost, formatCount, formatDecimal, formatMoney, formatPercent } from '../../words/numbers.js';

const CAUSE_PHRASES: Readonly<Record<RebalanceView['cause'], string>> = {
  schedule: 'by the schedule',
  breach: 'after a breach',
  replacement: 'a constituent was replaced',
  fast_entry: 'a new security entered',
  fast_exit: 'a constituent was ranked too low',
};

/** Renders the dates, the constituents, the trading and the cap of a rebalance. */
export function RebalanceFigures({ view }: { readonly view: RebalanceView }) {
  const { decision_date: decided, traded_on: traded, constituents, added, removed, cap, capped } = view;
  const { turnover, cost_fraction: cost, previous, cause } = view;
  return (
    <Metrics
      label="Figures of the rebalance"
      metrics={[
        {
          term: 'Decided on',
          value: decided ?? '–',
          help: 'Session whose data decided the weights',
          note: CAUSE_PHRASES[cause],
        },
        { term: 'Traded on', value: traded ?? 'before the run' },
        { term: 'Constituents', value: formatCount(constituents) },
        {
          term: 'Added',
          value: formatCount(added),
          kind: added > 0 ? 'up' : '',
          note: formatNames(view.names.filter(isAdded)),
        },
        {
          term: 'Removed',
          value: formatCount(removed),
          kind: removed > 0 ? 'down' : '',
          note: formatNames(view.names.filter(isRemoved)),
        },
        ...(previous === null
          ? [{ term: 'One-way turnover', value: 'initial construction', help: 'Nothing was held before' }]
          : [
              {
                term: 'One-way turnover',
                value: formatPercent(turnover),
                help: 'Half the sum of the absolute weight changes',
              },
              turnover !== 0 && cost === 0
                ? { term: 'Cost', value: 'not modelled', note: NO_COST_NOTE }
                : { term: 'Cost', value: formatCost(cost), help: 'Of the value at the close before, in basis points' },
            ]),
        {
          term: 'At the cap',
          value: formatCount(capped),
          note: cap === null ? 'no cap' : `cap ${formatPercent(cap)} when decided`,
        },
      ]}
    />
  );
}

/** States why trades of a run cost nothing. */
const NO_COST_NOTE = 'the run has no transaction cost';

/** Maximum number of identifiers below a figure. */
const NOTED_MAX = 3;

const formatNames = (names: readonly RebalancedName[]) =>
  formatFirstNames(
    names.map(({ identifier }) => identifier),
    NOTED_MAX,
  ) || undefined;

/** Returns true if a security enters the index at the rebalance. */
export const isAdded = ({ before, target }: RebalancedName): boolean =>
  target !== 0 && (before === null || before === 0);
/** Returns true if a security leaves the index at the rebalance. */
export const isRemoved = ({ before, target }: RebalancedName): boolean =>
  target === 0 && before !== null && before !== 0;

/** Sorts added securities first, then removed ones, then all others; within each by weight. */
export function sortChangedFirst(names: readonly RebalancedName[]): readonly RebalancedName[] {
  const findPlace = (name: RebalancedName) => (isAdded(name) ? 0 : isRemoved(name) ? 1 : 2);
  return names.toSorted(
    (a, b) => findPlace(a) - findPlace(b) || b.after - a.after || (b.before ?? 0) - (a.before ?? 0),
  );
}

/** Formats the totals of the trades, and the value of the portfolio that follows from them and the turnover. */
export function formatTraded({ names, turnover }: RebalanceView, currency: string): string | null {
  const trades = names.map(({ trade }) => trade ?? 0);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const [bought, sold] = [sum(trades.filter((trade) => trade > 0)), -sum(trades.filter((trade) => trade < 0))];
  if (bought + sold === 0) return null;
  const write = (value: string) => formatMoney(value, currency === '' ? null : currency);
  const totals = `Bought ${write(formatDecimal(bought, 0))}, sold ${write(formatDecimal(sold, 0))}`;
  if (turnover === null || turnover === 0) return `${totals}.`;
  return `${totals}, of a portfolio of about ${write(formatCompact((bought + sold) / 2 / turnover))}.`;
}
