import type { IndexSummary, OverviewView, RebalanceList } from '#clients/typescript/divisor.js';
import { Metrics } from '../../components/metrics.js';
import { Sparkline } from '../../components/sparkline.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { dayNumber } from '../../words/dates.js';
import { formatAtMost, bps, change, count, NONE, percent } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';

interface StrategySummaryProps {
  readonly document: JsonObject;
  /** Summary of the followed index. */
  readonly index: IndexSummary | undefined;
}

/** Describes the strategy in a sentence, with figures of the index and the expected costs of its turnover. */
export function StrategySummary({ document, index }: StrategySummaryProps) {
  const overview = useResource(index?.has_run === true ? `overview ${index.id}` : null, (signal) =>
    service.value.call('getOverview', { params: { index_id: index!.id }, signal }),
  );
  const rebalances = useResource(index?.has_run === true ? `rebalances ${index.id}` : null, (signal) =>
    service.value.call('listRebalances', { params: { index_id: index!.id }, signal }),
  );
  if (index === undefined) return null;
  const cost = numberIn(document['transaction_cost_bps'], 0);
  const run = overview.data;
  const turnover = run === undefined || rebalances.data === undefined ? null : yearlyTurnover(run, rebalances.data);
  return (
    <>
      <p class="strategy-summary">{sentenceOf(document, index)}</p>
      {run !== undefined && (
        <Metrics
          label={`Figures of ${index.id}`}
          metrics={[
            {
              term: `Level of ${index.id}`,
              value: <Sparkline values={run.level.data} label={`Level of ${index.id}`} />,
              note: `${run.start} to ${run.end}`,
            },
            { term: 'Return per year', value: change(run.metrics.annualised_return), note: 'over these dates' },
            { term: 'Volatility', value: percent(run.metrics.volatility), note: 'per year' },
            { term: 'Rebalances', value: count(run.rebalances), note: `the last on ${run.last_rebalance}` },
            {
              term: 'Turnover',
              value: percent(turnover),
              note: 'one way, per year',
            },
            {
              term: 'Expected costs',
              value: cost === 0 ? 'none' : turnover === null ? NONE : bps((2 * turnover * cost) / 1e4),
              note: 'per year, by this turnover',
              help: 'Twice the one-way turnover of the index, times the cost of a trade',
            },
          ]}
        />
      )}
    </>
  );
}

const DAYS_PER_YEAR = 365.25;

/** Returns the mean one-way turnover of a run per year, without the first purchase. */
function yearlyTurnover({ start, end }: OverviewView, { rebalances }: RebalanceList): number {
  const years = (dayNumber(end) - dayNumber(start)) / DAYS_PER_YEAR;
  const sum = rebalances.reduce((total, { turnover }) => total + (turnover ?? 0), 0);
  return years > 0 ? sum / years : 0;
}

const numberIn = (value: Json | undefined, otherwise: number): number =>
  typeof value === 'number' ? value : otherwise;

/** Describes the terms of a strategy. */
function sentenceOf(document: JsonObject, { id, name, base_date: base, currency }: IndexSummary): string {
  const capital = count(numberIn(document['initial_capital'], CAPITAL));
  const exposure = numberIn(document['exposure'], 1);
  const cost = numberIn(document['transaction_cost_bps'], 0);
  const tolerance = document['drift_tolerance'];
  const { start, end, rebalance, constraint_set_id: constraints } = document;
  return [
    `A portfolio of ${capital} ${currency} follows ${name} (${id}) from ${typeof start === 'string' ? start : base}`,
    typeof end === 'string' ? ` to ${end}` : '',
    exposure === 1 ? ', fully invested' : `, ${formatAtMost(exposure * 100, 2)}% invested`,
    cost === 0 ? ', without trading costs.' : `, and pays ${formatAtMost(cost, 2)} bps for each trade.`,
    rebalance === undefined || rebalance === null
      ? ' It is rebalanced with the index'
      : ' It is rebalanced on its own dates',
    typeof tolerance === 'number'
      ? ` and trades differences of weights above ${formatAtMost(tolerance * 100, 3)}%`
      : '',
    typeof constraints === 'string' ? `, within the constraints ${constraints}.` : '.',
  ].join('');
}

/** Default initial capital in the contract. */
const CAPITAL = 1_000_000;
