import type { BacktestMetrics, OverviewView, PerformanceView } from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import { PERCENT } from '../../components/chart/series.js';
import { Heatmap } from '../../components/heatmap.js';
import { Metrics, type Metric } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { RangeBar } from '../../components/range-bar.js';
import { Answered } from '../../components/wait.js';
import { parameter } from '../../state/place.js';
import { chooseRange, chosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { runKey, shownRun } from '../../state/shown-run.js';
import { change, decimal, percent, signClass } from '../../words/numbers.js';
import { LevelChart } from './level-chart.js';

interface PerformanceProps {
  readonly id: string;
  readonly run: OverviewView;
}

/** Levels, what became of a range of dates, and the returns of months and years. */
export function Performance({ id, run }: PerformanceProps) {
  const range = chosenRange();
  const query = { ...shownRun(), ...(range === null ? {} : { start: range.from, end: range.to }) };
  const measured = useResource(
    `performance ${runKey(id)} ${range?.from} ${range?.to}`,
    (signal) => service.value.call('getPerformance', { params: { index_id: id }, query, signal }),
    { keeps: true },
  );
  return (
    <div class="performance">
      <RangeBar start={run.start} end={run.end} />
      <Answered resource={measured} what="the figures of the range">
        {(view) => (
          <>
            <Metrics label={`Figures from ${view.start} to ${view.end}`} metrics={figuresOf(view.metrics)} />
            <OwnReturn run={run} />
            <LevelChart id={id} run={run} performance={view} />
            <Drawdown view={view} />
            <Section title="Returns by month" aside={`${view.start} to ${view.end}`}>
              <Heatmap label="Returns by month" values={view.monthly_returns} totals={view.annual_returns} />
            </Section>
          </>
        )}
      </Answered>
    </div>
  );
}

/** Said where the level is drawn in another return than the one that everything else is of. */
function OwnReturn({ run: { return_variant: own } }: Pick<PerformanceProps, 'run'>) {
  const drawn = parameter('variant') ?? own;
  if (own === null || drawn === own) return null;
  return (
    <p class="quiet">
      The level is drawn as {drawn} return. Figures, drawdown and returns by month are of the {own} return, which the
      definition asks for.
    </p>
  );
}

function figuresOf(metrics: BacktestMetrics): readonly Metric[] {
  const { total_return: total, annualised_return: annual, volatility, sharpe_ratio: sharpe } = metrics;
  const { max_drawdown: drawdown, tracking_error: error, tracking_difference: difference } = metrics;
  return [
    { term: 'Total return', value: change(total), kind: signClass(total), help: 'Last level over the first, less 1' },
    { term: 'Annualised', value: change(annual), kind: signClass(annual), help: '(1 + total)^(252 / n) - 1' },
    { term: 'Volatility', value: percent(volatility), help: 'Annualised standard deviation of daily returns' },
    { term: 'Sharpe ratio', value: decimal(sharpe), help: 'Mean return x 252 over volatility, risk-free rate 0' },
    { term: 'Max drawdown', value: percent(drawdown), help: 'Lowest level against its peak before, within the range' },
    { term: 'Tracking error', value: percent(error), help: 'Of the portfolio to the index, annualised' },
    { term: 'Tracking difference', value: change(difference), help: 'Return of the portfolio less that of the index' },
  ];
}

function Drawdown({ view }: { readonly view: PerformanceView }) {
  return (
    <Section title="Drawdown" aside="level against its peak within the range">
      <Chart
        label="Drawdown"
        dates={view.drawdown.index}
        lines={[{ id: 'drawdown', label: 'Drawdown', values: view.drawdown.data, colour: 7, isFilled: true }]}
        height={140}
        hasZero
        sync="index"
        range={null}
        onRange={(range) => chooseRange(range)}
        unit={PERCENT}
      />
    </Section>
  );
}
