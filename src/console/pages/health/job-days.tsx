import type { JobStatus } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { formatAddress } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatDuration, formatMoment } from '../../words/dates.js';
import { formatJobTitle } from '../../words/jobs.js';
import { formatCount, countValues, MISSING_TEXT } from '../../words/numbers.js';
import { groupByDay, type Day } from './ended-jobs.js';
import './health.css';

/** Maximum number of jobs in one response. */
const JOBS_MAX = 500;

/** Renders the stored jobs by the day on which they ended. A day opens to its failed jobs. */
export function JobDays() {
  const jobs = useResource('ended jobs', (signal) =>
    service.value.call('listJobs', {
      query: { limit: JOBS_MAX, status: ['succeeded', 'failed', 'cancelled'] },
      signal,
    }),
  );
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
    <figure class="job-history" aria-hidden="true">
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

const formatTime = (seconds: number | null): string => (seconds === null ? MISSING_TEXT : formatDuration(seconds));

const COLUMNS: readonly Column<Day>[] = [
  { id: 'date', title: 'Day', width: 110, grow: 1, value: ({ date }) => date },
  createNumericColumn({
    id: 'succeeded',
    title: 'Succeeded',
    width: 96,
    of: ({ succeeded }) => succeeded,
    write: formatCount,
  }),
  createNumericColumn({
    id: 'no-result',
    title: 'No result',
    help: 'Jobs that ended without an error and without a result',
    width: 84,
    of: ({ withoutResult }) => withoutResult,
    write: formatCount,
  }),
  createNumericColumn({
    id: 'failed',
    title: 'Failed',
    width: 76,
    of: ({ failed }) => failed,
    write: (value) => <span class={value > 0 ? 'down' : ''}>{formatCount(value)}</span>,
  }),
  createNumericColumn({
    id: 'cancelled',
    title: 'Cancelled',
    width: 90,
    priority: 4,
    of: ({ cancelled }) => cancelled,
    write: formatCount,
  }),
  createNumericColumn({
    id: 'repeated',
    title: 'Repeated',
    help: 'Jobs with more than one attempt',
    width: 90,
    priority: 3,
    of: ({ repeated }) => repeated,
    write: formatCount,
  }),
  createNumericColumn({
    id: 'median',
    title: 'Median time',
    width: 104,
    priority: 2,
    of: ({ median }) => median,
    write: formatTime,
  }),
  createNumericColumn({
    id: 'longest',
    title: 'Longest',
    width: 96,
    priority: 3,
    of: ({ longest }) => longest,
    write: formatTime,
  }),
];
