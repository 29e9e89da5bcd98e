import type { IndexSummary, OverviewView, RebalanceList } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { isWide, type Line } from '../../components/chart/series.js';
import { Metrics } from '../../components/metrics.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { parseDayNumber } from '../../words/dates.js';
import {
  formatAtMost,
  formatBps,
  formatChange,
  formatCount,
  MISSING_TEXT,
  formatPercent,
} from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';

interface StrategySummaryProps {
  readonly document: JsonObject;
  /** Summary of the followed index. */
  readonly index: IndexSummary | undefined;
  readonly isStored: boolean;
  /** False if the page already states the run behind the figures. Default: true. */
  readonly hasOrigin?: boolean;
}

/** Describes the strategy in a sentence, with figures of the index and the expected costs of its turnover. */
export function StrategySummary({ document, index, isStored, hasOrigin = true }: StrategySummaryProps) {
  const overview = useResource(index?.has_run === true ? `overview ${index.id}` : null, (signal) =>
    service.value.call('getOverview', { params: { index_id: index!.id }, signal }),
  );
  const rebalances = useResource(index?.has_run === true ? `rebalances ${index.id}` : null, (signal) =>
    service.value.call('listRebalances', { params: { index_id: index!.id }, signal }),
  );
  const id = typeof document['id'] === 'string' ? document['id'] : '';
  const strategies = useResource('strategies', (signal) => service.value.call('listStrategies', { signal }));
  const hasRun = isStored && strategies.data?.strategies.find(({ strategy }) => strategy.id === id)?.has_run === true;
  const ownOverview = useResource(hasRun ? `overview ${id}` : null, (signal) =>
    service.value.call('getOverview', { params: { index_id: id }, signal }),
  );
  if (index === undefined) return null;
  const cost = readNumber(document['transaction_cost_bps'], 0);
  const run = overview.data;
  // The strategy's own figures replace those of the index once it has a run.
  const shown = ownOverview.data ?? run;
  const turnover =
    run === undefined || rebalances.data === undefined ? null : computeYearlyTurnover(run, rebalances.data);
  return (
    <>
      <p class="strategy-summary">{formatSentence(document, index)}</p>
      {hasOrigin && shown !== undefined && (
        <Origin run={shown} idle={ownOverview.data === undefined ? (isStored ? id : 'The strategy') : null} />
      )}
      {run !== undefined && shown !== undefined && (
        <Metrics
          label={`Figures of ${shown.index_id}`}
          metrics={[
            {
              term: `Return of ${shown.index_id} after costs`,
              value: formatChange(shown.metrics.total_return),
              note: `${formatChange(shown.metrics.annualised_return)} per year of 252 sessions`,
            },
            {
              term: `Volatility of ${shown.index_id}`,
              value: formatPercent(shown.metrics.volatility),
              note: 'per year',
            },
            {
              term: `Rebalances of ${index.id}`,
              value: formatCount(run.rebalances),
              note: `the last on ${run.last_rebalance}`,
            },
            {
              term: `Turnover of ${index.id}`,
              value: formatPercent(turnover),
              note: 'one way, per year',
            },
            {
              term: 'Expected costs',
              value: cost === 0 ? 'none' : turnover === null ? MISSING_TEXT : formatBps((2 * turnover * cost) / 1e4),
              note: 'per year, by this turnover',
              help: 'Twice the one-way turnover of the index, times the cost of a trade',
            },
          ]}
        />
      )}
      {run !== undefined && <Levels run={run} own={ownOverview.data} />}
    </>
  );
}

interface OriginProps {
  /** Run that the figures are from. */
  readonly run: OverviewView;
  /** Strategy without a run; null if it has one. */
  readonly idle: string | null;
}

/** Names the run of the figures, and the end of the served data where it differs. */
function Origin({ run, idle }: OriginProps) {
  const stores = useResource('stores', (signal) => service.value.call('listStores', { signal }));
  const dataEnd = stores.data?.stores.find(({ active }) => active)?.end ?? null;
  return (
    <p class="quiet">
      {idle !== null && `${idle} has not been run. `}
      Figures and chart of {run.index_id} are from its newest run, {run.start} to {run.end}
      {dataEnd !== null && dataEnd !== run.end ? `; the served data ends on ${dataEnd}.` : '.'}
    </p>
  );
}

interface LevelsProps {
  readonly run: OverviewView;
  /** Run of the strategy; undefined if there is none. */
  readonly own: OverviewView | undefined;
}

/** Renders the level of the index, and of the strategy if it has a run, 100 at the first common date. */
function Levels({ run, own }: LevelsProps) {
  const [dates, lines] = useMemo(() => {
    const views = own === undefined ? [run] : [own, run];
    const levels = views.map(
      ({ level }) => new Map(level.index.map((date, t) => [String(date), Number(level.data[t])])),
    );
    const common = [...levels[0]!.keys()].filter((date) => levels.every((level) => level.has(date))); // at least one run
    const drawn = views.map(({ index_id: id }, k): Line => {
      const base = levels[k]!.get(common[0] ?? '') ?? 1; // a level per run
      const values = common.map((date) => (100 * levels[k]!.get(date)!) / base);
      return { id, label: id, colour: k + 1, values, ...(id === run.index_id ? { reference: id } : {}) };
    });
    return [common, drawn];
  }, [run, own]);
  if (dates.length < 2) return null;
  return (
    <Chart
      label={`Level of ${lines.map(({ id }) => id).join(' and ')}`}
      dates={dates}
      lines={lines}
      height={150}
      isLog={isWide(lines, 0, dates.length - 1)}
      compares={lines.length > 1}
    />
  );
}

const DAYS_PER_YEAR = 365.25;

/** Returns the mean one-way turnover of a run per year, without the first purchase. */
function computeYearlyTurnover({ start, end }: OverviewView, { rebalances }: RebalanceList): number {
  const years = (parseDayNumber(end) - parseDayNumber(start)) / DAYS_PER_YEAR;
  const sum = rebalances.reduce((total, { turnover }) => total + (turnover ?? 0), 0);
  return years > 0 ? sum / years : 0;
}

const readNumber = (value: Json | undefined, otherwise: number): number =>
  typeof value === 'number' ? value : otherwise;

/** Describes the terms of a strategy. */
function formatSentence(document: JsonObject, { id, name, base_date: base, currency }: IndexSummary): string {
  const capital = formatCount(readNumber(document['initial_capital'], EXAMPLE_CAPITAL));
  const exposure = readNumber(document['exposure'], 1);
  const cost = readNumber(document['transaction_cost_bps'], 0);
  const tolerance = document['drift_tolerance'];
  const { start, end, rebalance, constraint_set_id: constraints } = document;
  return [
    `A portfolio of ${capital} ${currency} follows ${name} (${id}) from ${typeof start === 'string' ? start : base}`,
    typeof end === 'string' ? ` to ${end}` : '',
    exposure === 1 ? ', fully invested' : `, ${formatAtMost(exposure * 100, 2)}% invested`,
    cost === 0 ? ', without trading costs.' : `, and pays ${formatAtMost(cost, 2)} bp for each trade.`,
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
const EXAMPLE_CAPITAL = 1_000_000;
