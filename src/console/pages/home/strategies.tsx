import type { JobStatus, RunSummaryRow, StoredStrategy } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { isLater, useFailedRuns } from '../../state/failed-runs.js';
import { useAsking, type RefusedQuery } from '../../state/refusals.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { RunButton } from './run-button.js';
import { formatChange, countValues, formatDecimal, getSignClass } from '../../words/numbers.js';

/** Strategy with a summary of its stored run. The summary is null before the first run. */
interface Row {
  readonly stored: StoredStrategy;
  readonly run: RunSummaryRow | null;
  /** Last run if it failed and is newer than the stored run; otherwise null. */
  readonly failed: JobStatus | null;
  readonly asking: RefusedQuery;
}

/** Renders the strategies: portfolios that follow an index under their own terms. Renders nothing if there are none. */
export function Strategies() {
  const strategies = useResource('strategies', (signal) => service.value.call('listStrategies', { signal }));
  const runs = useResource('summaries', (signal) => service.value.call('listSummaries', { signal }));
  const failures = useFailedRuns();
  const asking = useAsking();
  const all = strategies.data?.strategies ?? [];
  if (all.length === 0 || runs.data === undefined) return null;
  const byId = new Map(runs.data?.summaries.map((run) => [run.index_id, run]));
  return (
    <Section title="Strategies">
      {asking.trouble !== null && <Problem trouble={asking.trouble} />}
      <Table
        label="strategies"
        name="strategies"
        columns={COLUMNS}
        rows={all.map((stored): Row => {
          const run = byId.get(stored.strategy.id) ?? null;
          const failedJob = failures.get(stored.strategy.id);
          return {
            stored,
            run,
            asking,
            failed: failedJob !== undefined && isLater(failedJob, run?.run_at) ? failedJob : null,
          };
        })}
        getKey={({ stored }) => stored.strategy.id}
        formatAddress={({ stored }) => formatIndexAddress(stored.strategy.id)}
        sort={{ column: 'strategy', direction: 'asc' }}
        height={400}
      />
    </Section>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'strategy',
    title: 'Strategy',
    width: 132,
    grow: 3,
    value: ({ stored }) => stored.strategy.id,
    show: ({ stored: { strategy } }) => (
      <span class="home-index">
        <a href={formatIndexAddress(strategy.id)} tabIndex={-1}>
          {strategy.id}
        </a>
        <span class="quiet">{strategy.name}</span>
      </span>
    ),
  },
  {
    id: 'index',
    title: 'Follows',
    width: 130,
    priority: 3,
    value: ({ stored }) => stored.strategy.index_id,
    showBelow: ({ stored: { strategy } }) => `${strategy.name}, follows ${strategy.index_id}`,
  },
  {
    id: 'level',
    title: 'Level',
    help: '100 at the start of the run',
    width: 92,
    align: 'right',
    value: ({ run }) => run?.level ?? null,
    show: ({ run }) => <span class="number">{formatDecimal(run?.level)}</span>,
  },
  {
    id: 'return',
    title: 'Total',
    help: 'Return over the whole run',
    width: 90,
    priority: 2,
    align: 'right',
    value: ({ run }) => run?.total_return ?? null,
    show: ({ run }) => (
      <span class={`number ${getSignClass(run?.total_return)}`}>{formatChange(run?.total_return)}</span>
    ),
  },
  {
    id: 'state',
    title: 'State',
    width: 140,
    grow: 1,
    value: ({ stored, run, failed }) =>
      stored.problems.length > 0 ? 4 : failed !== null ? 3 : run === null ? 2 : run.stale === null ? 0 : 1,
    show: ({ stored: { strategy, problems }, run, failed, asking }) => (
      <span class="home-state">
        {problems.length > 0 ? (
          <Badge kind="bad" title={problems.map(({ message }) => message).join(' ')}>
            {countValues(problems.length, 'problem')}
          </Badge>
        ) : failed !== null ? (
          <Badge kind="bad" title={failed.error?.message ?? failed.message}>
            run failed
          </Badge>
        ) : run === null ? (
          <Badge>never run</Badge>
        ) : run.stale === null ? (
          <Badge kind="good">up to date</Badge>
        ) : (
          <Badge kind="warning" title={run.stale.reasons.join(' ')}>
            stale
          </Badge>
        )}
        {problems.length === 0 && (failed !== null || run?.stale !== null) && (
          <RunButton id={strategy.id} failed={failed} asking={asking} />
        )}
      </span>
    ),
  },
];
