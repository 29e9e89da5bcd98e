import './home.css';
import type { ComponentChildren } from 'preact';
import type { DataStore, JobStatus, RunSummaryRow, StoredStrategy } from '#clients/typescript/divisor.js';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import {
  Answered,
  Badge,
  Banner,
  createLazyComponent,
  FiguresSkeleton,
  Findings,
  Problem,
  Progress,
  ValueSkeleton,
} from '../../components/feedback.js';
import { Page, Section } from '../../components/layout/page.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { cancelJob, type RefusedQuery, useAsking } from '../../state/actions.js';
import { health, liveJobs } from '../../state/live.js';
import { isLater, useFailedRuns } from '../../state/runs.js';
import { may, service, useResource } from '../../state/service.js';
import { useStores } from '../../state/stores.js';
import { formatIndexAddress, storeAddress } from '../../words/addresses.js';
import { computeSecondsBetween, formatDuration, formatMoment } from '../../words/dates.js';
import { describeDue, describeLag, findLag } from '../../words/freshness.js';
import { formatJobAddress, formatJobTitle, STATUS_KINDS } from '../../words/jobs.js';
import {
  countValues,
  formatChange,
  formatCount,
  formatDecimal,
  formatPercent,
  getSignClass,
} from '../../words/numbers.js';
import { Coming } from '../calendar/coming.js';
import { IndexTable, RunButton } from './index-table.js';

const SHOWN_MAX = 6;

/** Renders the latest jobs with links to their results. */
function LatestJobs() {
  const jobs = useResource(
    'jobs latest',
    (signal) =>
      service.value.call('listJobs', { query: { status: ['succeeded', 'failed'], limit: SHOWN_MAX }, signal }),
    { isLater: true },
  );
  if (jobs.data === undefined || jobs.data.jobs.length === 0) return null;
  return (
    <Section title="Latest results" aside={<a href="/console/jobs">Jobs</a>}>
      <ul class="latest-jobs">
        {jobs.data.jobs.map((job) => (
          <li key={job.job_id}>
            <a
              href={
                job.status === 'succeeded'
                  ? formatJobAddress(job)
                  : `/console/jobs?job=${encodeURIComponent(job.job_id)}`
              }
            >
              {formatJobTitle(job)}
            </a>
            <span class="quiet number">{formatMoment(job.finished_at)}</span>
            <Badge kind={STATUS_KINDS[job.status]}>{job.status}</Badge>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Strategy with a summary of its stored run. The summary is null before the first run. */
interface Row {
  readonly stored: StoredStrategy;
  readonly run: RunSummaryRow | null;
  /** Last run if it failed and is newer than the stored run; otherwise null. */
  readonly failed: JobStatus | null;
  readonly asking: RefusedQuery;
}

/** Renders the strategies: portfolios that follow an index under their own terms. Renders nothing if there are none. */
function Strategies() {
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

/** Renders the queued and running jobs. */
function RunningJobs() {
  const jobs = liveJobs.value;
  if (jobs.length === 0) return null;
  return (
    <Section title="Running" aside={jobs.length > SHOWN_MAX && <a href="/console/jobs">All {jobs.length}</a>}>
      <ul class="job-list">
        {jobs.slice(0, SHOWN_MAX).map((job) => (
          <li key={job.job_id}>
            <a href={formatJobAddress(job)}>{formatJobTitle(job)}</a>
            <span class="quiet job-message">{job.message}</span>
            <Progress value={job.progress} label={formatJobTitle(job)} />
            <span class="number">{job.status === 'pending' ? 'waiting' : formatPercent(job.progress, 0)}</span>
            <span class="quiet number job-time">
              {formatDuration(computeSecondsBetween(job.started_at ?? job.created_at, null))}
            </span>
            {may('run') && (
              <Button kind="bare" onClick={() => cancelJob(job.job_id)} aria-label={`Cancel ${formatJobTitle(job)}`}>
                Cancel
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

const KINDS: Readonly<Record<DataStore['kind'], string>> = {
  folder: 'folder',
  database: 'database',
  imported: 'imported',
  synthetic: 'synthetic',
};

/** Renders the number of securities, the dates and the data warnings of the served store. */
function ServedStore({ store }: { readonly store: DataStore }) {
  const { store_id: id, name, kind, identifiers, start, end, last_loaded_at: loadedAt, status } = store;
  const dataStore = useResource(`store ${id}`, (signal) =>
    service.value.call('getStore', { params: { store_id: id }, signal }),
  );
  const findings = dataStore.data?.findings ?? [];
  /** Formats a figure. While a store is loading, it has neither dates nor counts. */
  function renderValue<T extends string | number>(
    value: T | null,
    text: (value: T) => string = String,
  ): ComponentChildren {
    if (value !== null) return text(value);
    return status === 'loading' ? <ValueSkeleton /> : '–';
  }
  const lag = findLag(health.value?.freshness, id);
  const warnings = findings.filter(({ severity }) => severity !== 'info');
  return (
    <section class="served" aria-labelledby="served-title">
      <h2 id="served-title" class="served-title">
        Served market
      </h2>
      <div class="served-name">
        <a href={storeAddress(id)}>{name}</a>
        <Badge>{KINDS[kind]}</Badge>
        {status !== 'ready' && <Badge kind="warning">{status}</Badge>}
      </div>
      <dl class="served-facts">
        <Fact term="Securities">{renderValue(identifiers, formatCount)}</Fact>
        <Fact term="From">{renderValue(start)}</Fact>
        <Fact term="To">
          {renderValue(end)}{' '}
          {lag !== undefined && lag.behind > 0 && (
            <Badge kind="warning" title={describeDue(lag)}>
              {describeLag(lag)}
            </Badge>
          )}
        </Fact>
        <Fact term="Read">{renderValue(loadedAt, formatMoment)}</Fact>
      </dl>
      {warnings.length > 0 && (
        <details class="served-doubts">
          <summary>{countValues(warnings.length, 'warning')} of the last read</summary>
          <Findings findings={warnings} />
        </details>
      )}
    </section>
  );
}

function Fact({ term, children }: { readonly term: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Shown only without data stores, so the first page of a service in use does not load it. */
const FirstSteps = createLazyComponent('the first steps', async () => (await import('./first-steps.js')).FirstSteps);

/** Returns true after a start of the service while it is loading the previously served store. */
const isBeingRead = (): boolean => health.value?.store.active === null && health.value.store.status === 'loading';

const BeingRead = () => (
  <>
    <Banner kind="info" title="The data store is being loaded after the restart." />
    <FiguresSkeleton />
  </>
);

/** Overview page: the served store, running jobs, and all indices with their states. */
export function Home() {
  const stores = useStores();
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const hasIndices = (indices.data?.indices.length ?? 0) > 0;
  return (
    <Page
      title="Indices"
      actions={
        may('write') && (
          <>
            <LinkButton href="/console/plugins">Plug-ins</LinkButton>
            <LinkButton href="/console/indices/templates">Templates</LinkButton>
            <LinkButton kind={hasIndices ? 'main' : 'plain'} href="/console/indices/new">
              <Icon name="plus" /> New index
            </LinkButton>
          </>
        )
      }
    >
      <Answered resource={stores} what="the data stores">
        {({ stores: all, active }) => {
          const servedStore = all.find(({ store_id: id }) => id === active);
          if (servedStore !== undefined) return <ServedStore store={servedStore} />;
          return isBeingRead() ? <BeingRead /> : <FirstSteps stores={all} />;
        }}
      </Answered>
      <RunningJobs />
      <Answered resource={indices} what="the indices">
        {({ indices: all, skipped }) => (
          <IndexTable
            indices={all}
            skipped={skipped}
            hasData={stores.data?.active != null && indices.trouble === null}
          />
        )}
      </Answered>
      <Strategies />
      {hasIndices && (
        <div class="home-more">
          <Coming />
          <LatestJobs />
        </div>
      )}
    </Page>
  );
}
