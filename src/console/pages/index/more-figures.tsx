import type { OverviewView, PerformanceView } from '#clients/typescript/divisor.js';
import { Heatmap } from '../../components/heatmap.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { formatCount, formatPercent } from '../../words/numbers.js';
import { addReturn } from '../../words/returns.js';
import { createBenchmarkFigures, createParentFigures, createStatistics } from './figures.js';

export interface MoreProps {
  readonly view: PerformanceView;
  readonly run: OverviewView;
}

/** Renders monthly returns, drawdowns, the distribution of returns, and comparisons. */
export function MoreFigures({ view, run }: MoreProps) {
  const { benchmark, benchmark_variant: variant } = view;
  const relative = createBenchmarkFigures(view);
  const parent = createParentFigures(run);
  return (
    <>
      <Section title="Returns by month">
        <Heatmap label="Returns by month" values={view.monthly_returns} totals={view.annual_returns} />
      </Section>
      {relative.length > 0 && benchmark !== null && (
        <Section title={`Against the benchmark ${addReturn(benchmark, variant)}`}>
          <Metrics label="Figures against the benchmark" metrics={relative} />
        </Section>
      )}
      {parent.length > 0 && (
        <Section
          title={`Against the parent ${run.parent!.index_id}`}
          aside={`Portfolio after costs, the whole run, ${run.start} to ${run.end}`}
        >
          <Metrics label="Figures against the parent" metrics={parent} />
        </Section>
      )}
      <Section title="Daily returns">
        <Metrics label="Statistics of the daily returns" metrics={createStatistics(view)} />
      </Section>
      {view.drawdowns.length > 0 && (
        <Section title="Deepest drawdowns">
          <Table
            label="deepest drawdowns"
            name="falls"
            columns={DRAWDOWN_COLUMNS}
            rows={view.drawdowns}
            getKey={({ peak }) => peak}
            sort={{ column: 'depth', direction: 'asc' }}
          />
        </Section>
      )}
    </>
  );
}

const DRAWDOWN_COLUMNS: readonly Column<PerformanceView['drawdowns'][number]>[] = [
  {
    id: 'depth',
    title: 'Depth',
    help: 'Lowest level divided by the high, minus 1',
    width: 84,
    align: 'right',
    value: ({ depth }) => depth,
    show: ({ depth }) => formatPercent(depth),
  },
  { id: 'peak', title: 'High', help: 'Last date at the high', width: 100, grow: 1, value: ({ peak }) => peak },
  { id: 'trough', title: 'Low', help: 'Date of the lowest level', width: 100, grow: 1, value: ({ trough }) => trough },
  {
    id: 'recovery',
    title: 'Recovered',
    help: 'First date at the high again',
    width: 124,
    grow: 1,
    priority: 2,
    value: ({ recovery }) => recovery ?? 'not yet',
  },
  {
    id: 'sessions',
    title: 'Sessions',
    help: 'From the high to the recovery, or to the last date',
    width: 84,
    priority: 3,
    align: 'right',
    value: ({ sessions }) => sessions,
    show: ({ sessions }) => formatCount(sessions),
  },
];
