import './health.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { BacktestRecordCollection, Health, JobStatus, ReconciliationView } from '#clients/typescript/divisor.js';
import { Button } from '../../components/controls/button.js';
import { Answered, Badge, Progress, Wait } from '../../components/feedback.js';
import { renderCode } from '../../components/form/field.js';
import { useSchemas } from '../../components/form/schema-form.js';
import { Entries, type Entry, Facts, Metrics } from '../../components/layout/facts.js';
import { GuideLink, Page, Section } from '../../components/layout/page.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { checkHealth, getCheckKind, health, isFollowing, liveJobs } from '../../state/live.js';
import { formatAddress } from '../../state/location.js';
import { createTrouble, principal, service, useAnswer, useList } from '../../state/service.js';
import { createStoredList } from '../../state/stored-list.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { computeSecondsBetween, formatDuration, formatMoment } from '../../words/dates.js';
import { formatLag, findLag } from '../../words/freshness.js';
import { type EndedJobs, formatJobTitle, groupByDay } from '../../words/jobs.js';
import { formatLabel } from '../../words/labels.js';
import { countValues, formatCount, formatLargeUnits, formatLimit } from '../../words/numbers.js';

/** Maximum number of jobs in one response. */
const JOBS_MAX = 500;

/** Renders the stored jobs by the day on which they ended. A day opens to its failed jobs. */
function JobDays() {
  const jobs = useAnswer('listJobs', { query: { limit: JOBS_MAX, status: ['succeeded', 'failed', 'cancelled'] } });
  return (
    <Section title="Ended jobs" aside={`the newest ${JOBS_MAX} that the service stores`}>
      <Answered resource={jobs} what="the jobs">
        {({ jobs: all }) => (
          <>
            <History jobs={all} />
            <FailedJobs jobs={all.filter(({ status }) => status === 'failed')} />
            <Table
              label="jobs by day"
              columns={COLUMNS}
              rows={groupByDay(all)}
              getKey={({ date }) => date}
              formatAddress={({ failed }) => (failed > 0 ? '/console/jobs?state=failed' : '/console/jobs')}
              sort={{ column: 'date', direction: 'desc' }}
              height={280}
              empty="No job has ended yet."
            />
          </>
        )}
      </Answered>
    </Section>
  );
}

/** Maximum number of failed jobs that are named. */
const FAILED_MAX = 3;

/** Renders links to the newest failed jobs. */
function FailedJobs({ jobs }: { readonly jobs: readonly JobStatus[] }) {
  if (jobs.length === 0) return null;
  return (
    <p>
      <span class="down">Failed:</span>{' '}
      {jobs.slice(0, FAILED_MAX).map((job, k) => (
        <span key={job.job_id}>
          {k > 0 && ', '}
          <a href={formatAddress('/console/jobs', { job: job.job_id })}>{formatJobTitle(job)}</a>
        </span>
      ))}
      {jobs.length > FAILED_MAX && (
        <>
          {' '}
          and <a href="/console/jobs?state=failed">{formatCount(jobs.length - FAILED_MAX)} more</a>
        </>
      )}
    </p>
  );
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Spans of the chart. If all jobs ended within 24 hours, the chart shows hours; otherwise it shows 30 days. */
const HOURS = { name: 'hour', bars: 24, ms: HOUR_MS, format: (time: number) => formatMoment(toIso(time)) };
const DAYS = { name: 'day', bars: 30, ms: DAY_MS, format: (time: number) => toIso(time).slice(0, 10) };

/** Minimum number of bars in the chart. */
const BARS_MIN = 2;

const toIso = (time: number): string => new Date(time).toISOString();

/** Draws the jobs of the last hours or days. A table contains the numbers by day. */
function History({ jobs }: { readonly jobs: readonly JobStatus[] }) {
  const endedJobs = jobs.flatMap(({ finished_at: at, status }) =>
    at === null ? [] : [{ time: Date.parse(at), status }],
  );
  const { name, bars, ms, format } = endedJobs.every(({ time }) => time > Date.now() - DAY_MS) ? HOURS : DAYS;
  const last = Math.floor(Date.now() / ms) * ms;
  const slots = Array.from({ length: bars }, (_, k) => {
    const from = last - (bars - 1 - k) * ms;
    const slotJobs = endedJobs.filter(({ time }) => time >= from && time < from + ms);
    return { from, total: slotJobs.length, failed: slotJobs.filter(({ status }) => status === 'failed').length };
  });
  const largestTotal = Math.max(...slots.map(({ total }) => total));
  // One bar would repeat the row of the table.
  if (slots.filter(({ total }) => total > 0).length < BARS_MIN) return null;
  const computeShare = (jobs: number) => ({ height: `${(100 * jobs) / largestTotal}%` });
  return (
    <figure class="pile frame raised gap-1 job-history" aria-hidden="true">
      <div>
        {slots.map(({ from, total, failed }) => (
          <span key={from} title={`${format(from)}: ${countValues(total, 'job')}, ${formatCount(failed)} failed`}>
            <i class="is-failed" style={computeShare(failed)} />
            <i style={computeShare(total - failed)} />
          </span>
        ))}
      </div>
      <figcaption>
        <span>{format(slots[0]!.from)}</span>
        <span>
          up to {formatCount(largestTotal)} per {name}
          <i class="is-failed" /> failed
        </span>
        <span>{format(last)}</span>
      </figcaption>
    </figure>
  );
}

const COLUMNS: readonly Column<EndedJobs>[] = [
  { id: 'date', title: 'Day', width: 110, grow: 1 },
  { id: 'succeeded', title: 'Succeeded', width: 96, write: formatCount },
  {
    id: 'no-result',
    title: 'No result',
    help: 'Jobs that ended without an error and without a result',
    width: 84,
    value: ({ withoutResult }) => withoutResult,
    write: formatCount,
  },
  {
    id: 'failed',
    title: 'Failed',
    width: 76,
    write: (value) => <span class={value > 0 ? 'down' : ''}>{formatCount(value)}</span>,
  },
  { id: 'cancelled', title: 'Cancelled', width: 90, priority: 4, write: formatCount },
  {
    id: 'repeated',
    title: 'Repeated',
    help: 'Jobs with more than one attempt',
    width: 90,
    priority: 3,
    write: formatCount,
  },
  { id: 'median', title: 'Median time', width: 104, priority: 2, write: formatDuration },
  { id: 'longest', title: 'Longest', width: 96, priority: 3, write: formatDuration },
];

interface Outcome {
  readonly index_id: string;
  /** Time of the run. The outcome does not apply to a later run. */
  readonly run_at: string | null;
  readonly checked_at: string;
  readonly reconciles: boolean;
  readonly text: string;
}

/** Maximum number of stored outcomes, which is 200 kB. If there are more runs, the newest outcomes are shown. */
const OUTCOMES_MAX = 1000;

const { items: outcomes, set: storeOutcomes } = createStoredList<Outcome>('divisor.reconciliations', OUTCOMES_MAX);

/** Renders the results of recomputing the identities of all stored runs. */
function RunChecks() {
  const runs = useList('backtests');
  return (
    <Answered resource={runs} what="the runs">
      {({ backtests }) => backtests.length > 0 && <Checks runs={backtests} />}
    </Answered>
  );
}

type Run = BacktestRecordCollection['backtests'][number];

function Checks({ runs }: { readonly runs: readonly Run[] }) {
  const [done, setDone] = useState<number | null>(null);
  const isWanted = useRef(true);
  const check = async () => {
    isWanted.current = true;
    // Runs are checked one after another, because a check reads and hashes a whole run.
    for (const [k, run] of runs.entries()) {
      setDone(k);
      const outcome = await readOutcome(run);
      storeOutcomes([...outcomes.peek().filter(({ index_id: id }) => id !== run.index_id), outcome]);
      if (!isWanted.current) break;
    }
    setDone(null);
  };
  const rows = runs.flatMap(
    (run) => outcomes.value.find((one) => one.index_id === run.index_id && one.run_at === run.run_at) ?? [],
  );
  return (
    <Section
      title="Reconciliation of every run"
      aside={
        done === null ? (
          <>
            <span>
              {formatCount(rows.length)} of {countValues(runs.length, 'run')} checked
            </span>
            <Button onClick={() => void check()}>Check all {runs.length}</Button>
          </>
        ) : (
          <>
            <span>
              {done} of {runs.length}
            </span>
            <Progress value={done / runs.length} label="Runs checked" />
            <Button
              kind="bare"
              onClick={() => {
                isWanted.current = false;
              }}
            >
              Stop
            </Button>
          </>
        )
      }
    >
      {rows.length === 0 ? (
        <p class="quiet">
          A check recomputes the identities of a run, for example that the contributions of its constituents sum to its
          return. This browser stores the outcomes.
        </p>
      ) : (
        <Table
          label="runs"
          columns={RUN_CHECKS_COLUMNS}
          rows={rows}
          getKey={({ index_id: id }) => id}
          formatAddress={({ index_id: id }) => `${formatIndexAddress(id)}?tab=risk`}
          height={400}
        />
      )}
    </Section>
  );
}

async function readOutcome({ index_id: id, run_at: runAt }: Run): Promise<Outcome> {
  const outcome = { index_id: id, run_at: runAt, checked_at: new Date().toISOString() };
  try {
    const view = await service.value.call('reconcileRun', { params: { index_id: id } });
    return { ...outcome, reconciles: view.reconciles, text: formatState(view) };
  } catch (thrown) {
    return { ...outcome, reconciles: false, text: createTrouble(thrown).message };
  }
}

function formatState({ checks }: ReconciliationView): string {
  const failedChecks = checks.filter(({ holds }) => !holds);
  return failedChecks.length === 0
    ? `all ${checks.length} identities hold`
    : `${failedChecks.length} of ${checks.length} do not hold: ${failedChecks.map(({ name }) => name).join(', ')}`;
}

const RUN_CHECKS_COLUMNS: readonly Column<Outcome>[] = [
  {
    id: 'index',
    title: 'Run of',
    width: 150,
    grow: 1,
    value: (row) => row.index_id,
    show: (row) => <strong>{row.index_id}</strong>,
  },
  {
    id: 'run',
    title: 'Run at',
    width: 172,
    priority: 2,
    value: (row) => row.run_at,
    show: (row) => formatMoment(row.run_at),
  },
  {
    id: 'outcome',
    title: 'Outcome',
    width: 200,
    grow: 2,
    value: ({ text }) => text,
    show: ({ reconciles, text }) => <Badge kind={reconciles ? 'good' : 'bad'}>{text}</Badge>,
  },
  {
    id: 'checked',
    title: 'Checked at',
    width: 172,
    priority: 3,
    value: (row) => row.checked_at,
    show: (row) => formatMoment(row.checked_at),
  },
];

/** Interval between checks while the page is open, in milliseconds. */
const POLL_MS = 5_000;

/** Page of the state of the service: its checks, the identities of every run, its limits and guarantees. */
export function HealthPage() {
  const [, setLooked] = useState(0);
  useEffect(() => {
    const look = () =>
      checkHealth().then(
        () => setLooked(Date.now()),
        () => undefined,
      );
    void look();
    const timer = setInterval(() => void look(), POLL_MS);
    return () => clearInterval(timer);
  }, []);
  const state = health.value;
  return (
    <Page
      title="Health"
      subtitle={<GuideLink page="promises">Guarantees of the service, and the tests that verify them</GuideLink>}
      actions={<Button onClick={() => void checkHealth()}>Refresh</Button>}
    >
      {state === null ? <Wait what="the service" /> : <Report state={state} />}
    </Page>
  );
}

function Report({ state }: { readonly state: Health }) {
  const { status, version, started_at: started, uptime_seconds: uptime, store, jobs, checks, limits } = state;
  const warnings = checks.filter(({ warning }) => warning).length;
  const waiting = liveJobs.value.filter(({ status: jobStatus }) => jobStatus === 'pending').length;
  return (
    <>
      <Metrics
        label="The service"
        metrics={[
          {
            term: 'State',
            value: status !== 'ok' ? status : warnings > 0 ? countValues(warnings, 'warning') : 'OK',
            kind: status !== 'ok' ? 'down' : warnings > 0 ? 'warning' : 'up',
            note: status === 'ok' && warnings > 0 ? 'no check fails' : '',
          },
          { term: 'Up for', value: formatDuration(uptime), note: `since ${formatMoment(started)}` },
          { term: 'Jobs running', value: jobs.running },
          { term: 'Jobs waiting', value: isFollowing.value ? waiting : jobs.pending },
          {
            term: 'Store served',
            value: store.active ?? 'none',
            ...createStoreNote(state),
          },
          { term: 'Version', value: version },
        ]}
      />
      <div class="pile gap-5 side-by-side">
        <Section title="Checks">
          <Entries label="Checks" entries={checks.map(checkEntry)} />
        </Section>
        <JobDays />
      </div>
      <States states={state.states} />
      <RunChecks />
      <Section title="This key">
        <Facts
          facts={[
            ['Key', principal.value?.key_id ?? 'the service does not use keys'],
            ['Scopes', principal.value?.scopes.join(', ') ?? '–'],
            ['Updates', isFollowing.value ? 'as jobs change' : 'every few seconds'],
          ]}
        />
      </Section>
      <Limits limits={limits} />
    </>
  );
}

/** Returns the note of the served store: its last date, and the number of sessions that are missing. */
function createStoreNote({ store, freshness }: Pick<Health, 'store' | 'freshness'>) {
  if (store.end === null || store.end === undefined) return { note: store.status ?? '' };
  const lag = findLag(freshness, store.active);
  return lag === undefined || lag.behind === 0
    ? { note: `up to ${store.end}` }
    : { note: `up to ${store.end}, ${formatLag(lag)}`, kind: 'warning' };
}

type State = Health['states'][number] & {
  /** Duration of the state until the next change; for the latest state, until now. */
  readonly seconds: number;
};

/** Renders the latest states of the process that answered. */
function States({ states }: Pick<Health, 'states'>) {
  const changes = states.toSorted((a, b) => a.since.localeCompare(b.since));
  const rows = changes.map((state, k): State => ({
    ...state,
    seconds: computeSecondsBetween(state.since, changes[k + 1]?.since ?? null),
  }));
  return (
    <Section title="Readiness" aside="since the start, the latest 20 changes; warnings do not change it">
      <Table
        label="readiness of the service"
        columns={STATE_COLUMNS}
        rows={rows}
        getKey={({ since }) => since}
        sort={{ column: 'since', direction: 'desc' }}
        height={300}
      />
    </Section>
  );
}

const STATE_COLUMNS: readonly Column<State>[] = [
  { id: 'since', title: 'Since', width: 190, show: ({ since }) => formatMoment(since, true) },
  { id: 'seconds', title: 'Duration', width: 110, priority: 2, write: formatDuration },
  {
    id: 'status',
    title: 'State',
    width: 100,
    show: ({ status }) => <Badge kind={status === 'ok' ? 'good' : 'bad'}>{status}</Badge>,
  },
  { id: 'reason', title: 'Reason', width: 120, grow: 1 },
];

/** Renders the limits that apply to clients, with their descriptions in the contract. */
function Limits({ limits }: Pick<Health, 'limits'>) {
  const schemas = useSchemas();
  const limitSchemas = schemas.data?.['Limits']?.properties ?? {};
  const rows = Object.entries(limits).map(([name, value]): Limit => ({
    name,
    value,
    help: limitSchemas[name]?.description ?? '',
  }));
  return (
    <Section title="Limits" aside="limits that apply to clients">
      <details>
        <summary>All {countValues(rows.length, 'limit')}</summary>
        <Table
          label="limits"
          name="limits"
          columns={LIMIT_COLUMNS}
          rows={rows}
          getKey={({ name }) => name}
          searchIn={({ name, help }) => `${name} ${help}`}
          height={420}
        />
      </details>
    </Section>
  );
}

type Check = Health['checks'][number];

const CHECK_WORDS = { bad: 'fails', warning: 'warning', good: 'passes' } as const;

const checkEntry = ({ name, message, ...check }: Check): Entry => ({
  key: name,
  title: formatLabel(name),
  badge: <Badge kind={getCheckKind(check)}>{CHECK_WORDS[getCheckKind(check)]}</Badge>,
  ...(name === 'data' && getCheckKind(check) !== 'good' && { aside: <a href="/console/data">Data stores</a> }),
  text: message === null || message === undefined ? <span class="quiet">no remarks</span> : formatLargeUnits(message),
});

interface Limit {
  readonly name: string;
  readonly value: number;
  readonly help: string;
}

const LIMIT_COLUMNS: readonly Column<Limit>[] = [
  {
    id: 'help',
    title: 'Meaning',
    width: 130,
    grow: 3,
    show: ({ name, help }) => (
      <span title={name}>{help === '' ? formatLabel(name.toLowerCase()) : renderCode(help)}</span>
    ),
  },
  { id: 'value', title: 'Value', width: 110, align: 'right', show: ({ name, value }) => formatLimit(name, value) },
];
