import type { CompareView, PerformanceView } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { Chart } from '../../components/chart/chart.js';
import { colourOf, within, type Line } from '../../components/chart/series.js';
import { Choice } from '../../components/choice.js';
import { EmptyState } from '../../components/empty-state.js';
import { Findings } from '../../components/findings.js';
import { Page, Section } from '../../components/page.js';
import { RangeBar } from '../../components/range-bar.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { parameter, setParameters } from '../../state/place.js';
import { chooseRange, chosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { indexAddress } from '../../words/addresses.js';
import { signed } from '../../components/signed.js';
import { decimal, percent } from '../../words/numbers.js';
import './compare.css';

/** Runs compared at once: each has a colour of its own. */
const COMPARED_MAX = 11;

/** Several runs side by side, on the dates that all of them have. */
export function ComparePage() {
  const runs = useResource('backtests', (signal) => service.value.call('listBacktests', { signal }));
  return (
    <Page title="Compare" subtitle="Runs side by side, on the dates that all of them have">
      <Answered resource={runs} what="the runs">
        {({ backtests }) => <Chosen ids={backtests.map(({ index_id: id }) => id)} />}
      </Answered>
    </Page>
  );
}

function Chosen({ ids }: { readonly ids: readonly string[] }) {
  const asked = parameter('ids');
  const chosen = (asked === null ? ids.slice(0, 4) : asked.split(','))
    .filter((id) => ids.includes(id))
    .slice(0, COMPARED_MAX);
  if (ids.length < 2)
    return <EmptyState title="Nothing to compare yet">Two indices or strategies with a run are needed.</EmptyState>;
  const toggle = (id: string) => {
    const next = chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id];
    setParameters({ ids: next.join(',') });
  };
  return (
    <>
      <div class="compare-ids" role="group" aria-label="Runs compared">
        {ids.map((id) => (
          <button
            key={id}
            type="button"
            aria-pressed={chosen.includes(id)}
            disabled={!chosen.includes(id) && chosen.length >= COMPARED_MAX}
            onClick={() => toggle(id)}
          >
            {chosen.includes(id) && <span class="swatch" style={{ color: colourOf(chosen.indexOf(id) + 1) }} />}
            {id}
          </button>
        ))}
      </div>
      {chosen.length < 2 ? <p class="quiet">Choose two or more.</p> : <Compared ids={chosen} />}
    </>
  );
}

function Compared({ ids }: { readonly ids: readonly string[] }) {
  const view = useResource(
    `compare ${ids.join()}`,
    (signal) => service.value.call('compareRuns', { query: { ids }, signal }),
    { keeps: true },
  );
  return (
    <Answered resource={view} what="the comparison">
      {(compared) => (
        <>
          <RangeBar start={compared.start} end={compared.end} />
          {compared.findings.length > 0 && <Findings findings={compared.findings} />}
          <Levels view={compared} />
          <Figures ids={ids} view={compared} />
        </>
      )}
    </Answered>
  );
}

function Levels({ view }: { readonly view: CompareView }) {
  const range = chosenRange();
  const isLog = parameter('scale') === 'log';
  const dates = view.entries[0]?.level.index ?? [];
  const lines = useMemo(() => {
    const [first] = within(dates, range);
    return view.entries.map(({ index_id: id, level }, k): Line => {
      const base = level.data[first] ?? null;
      const values =
        base === null ? level.data : level.data.map((value) => (value === null ? null : (100 * value) / base));
      return { id, label: id, values, colour: k + 1 };
    });
  }, [view, range?.from, range?.to]);
  return (
    <Section
      title="Level"
      aside={
        <>
          100 at the first date
          <Choice
            label="Scale"
            options={[
              { value: 'linear', text: 'Linear' },
              { value: 'log', text: 'Log' },
            ]}
            value={isLog ? 'log' : 'linear'}
            onChoose={(scale) => setParameters({ scale: scale === 'log' ? scale : null })}
          />
        </>
      }
    >
      <Chart
        label="Levels compared"
        dates={dates}
        lines={lines}
        isLog={isLog}
        height={360}
        range={range}
        onRange={chooseRange}
      />
    </Section>
  );
}

interface Row {
  readonly id: string;
  readonly isStale: boolean;
  readonly performance: PerformanceView;
}

/** The figures of each, over the same dates. */
function Figures({ ids, view }: { readonly ids: readonly string[]; readonly view: CompareView }) {
  const range = chosenRange();
  const query = { start: range?.from ?? view.start, end: range?.to ?? view.end };
  const figures = useResource(
    `compare figures ${ids.join()} ${query.start} ${query.end}`,
    (signal) =>
      Promise.all(ids.map((id) => service.value.call('getPerformance', { params: { index_id: id }, query, signal }))),
    { keeps: true },
  );
  return (
    <Section title="Figures" aside={`${query.start} to ${query.end}`}>
      <Answered resource={figures} what="the figures">
        {(all) => (
          <Table
            label="figures of the runs compared"
            name="runs"
            columns={COLUMNS}
            rows={all.map((performance): Row => ({
              id: performance.index_id,
              isStale: performance.stale !== null,
              performance,
            }))}
            keyOf={({ id }) => id}
            addressOf={({ id }) => indexAddress(id)}
          />
        )}
      </Answered>
    </Section>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'id',
    title: 'Run',
    width: 120,
    grow: 2,
    value: ({ id }) => id,
    show: ({ id, isStale }) => (
      <>
        <strong>{id}</strong> {isStale && <Badge kind="warning">stale</Badge>}
      </>
    ),
  },
  {
    id: 'total',
    title: 'Total',
    width: 92,
    align: 'right',
    value: ({ performance: { metrics } }) => metrics.total_return,
    show: ({ performance: { metrics } }) => signed(metrics.total_return),
  },
  {
    id: 'annual',
    title: 'Annualised',
    width: 96,
    priority: 2,
    align: 'right',
    value: ({ performance: { metrics } }) => metrics.annualised_return,
    show: ({ performance: { metrics } }) => signed(metrics.annualised_return),
  },
  {
    id: 'volatility',
    title: 'Volatility',
    width: 88,
    align: 'right',
    value: ({ performance: { metrics } }) => metrics.volatility,
    show: ({ performance: { metrics } }) => percent(metrics.volatility),
  },
  {
    id: 'sharpe',
    title: 'Sharpe',
    width: 76,
    priority: 3,
    align: 'right',
    value: ({ performance: { metrics } }) => metrics.sharpe_ratio,
    show: ({ performance: { metrics } }) => decimal(metrics.sharpe_ratio),
  },
  {
    id: 'drawdown',
    title: 'Max drawdown',
    width: 116,
    priority: 4,
    align: 'right',
    value: ({ performance: { metrics } }) => metrics.max_drawdown,
    show: ({ performance: { metrics } }) => percent(metrics.max_drawdown),
  },
  {
    id: 'error',
    title: 'Tracking error',
    help: 'Of the portfolio to its index',
    width: 112,
    priority: 5,
    align: 'right',
    value: ({ performance: { metrics } }) => metrics.tracking_error,
    show: ({ performance: { metrics } }) => percent(metrics.tracking_error),
  },
];
