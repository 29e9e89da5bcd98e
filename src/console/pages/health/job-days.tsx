import type { JobStatus } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatDuration, formatMoment, computeSecondsBetween } from '../../words/dates.js';
import { formatCount, countValues, MISSING_TEXT } from '../../words/numbers.js';
import './health.css';

/** Maximum number of jobs in one response. */
const JOBS_MAX = 500;

/** Jobs that ended on one day. */
interface Day {
  readonly date: string;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Number of jobs that needed more than one attempt. */
  readonly repeated: number;
  /** Median duration in seconds. */
  readonly median: number | null;
  readonly longest: number | null;
}

/** Renders the stored jobs by the day on which they ended. Each day opens to its failed jobs. */
export function JobDays() {
  const jobs = useResource('ended jobs', (signal) =>
    service.value.call('listJobs', {
      query: { limit: JOBS_MAX, status: ['succeeded', 'failed', 'cancelled'] },
      signal,
    }),
  );
  return (
    <Section title="Jobs by day" aside={`the newest ${JOBS_MAX} ended jobs that the service stores`}>
      <Answered resource={jobs} what="the jobs">
        {({ jobs: all }) => (
          <>
            <History days={groupByDay(all)} />
            <Table
              label="jobs by day"
              columns={COLUMNS}
              rows={groupByDay(all)}
              keyOf={({ date }) => date}
              addressOf={({ failed }) => (failed > 0 ? '/console/jobs?state=failed' : '/console/jobs')}
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

const CHART_DAYS = 30;
const DAY_MS = 86_400_000;

/** Draws the jobs of the last 30 days; the table has the same numbers in words. */
function History({ days }: { readonly days: readonly Day[] }) {
  const dayByDate = new Map(days.map((day) => [day.date, day]));
  const dates = Array.from({ length: CHART_DAYS }, (_, k) =>
    new Date(Date.now() - (CHART_DAYS - 1 - k) * DAY_MS).toISOString().slice(0, 10),
  );
  const countTotal = (day: Day | undefined) => (day === undefined ? 0 : day.succeeded + day.failed + day.cancelled);
  const most = Math.max(...dates.map((date) => countTotal(dayByDate.get(date))));
  if (most === 0) return null;
  const computeShare = (jobs: number) => ({ height: `${(100 * jobs) / most}%` });
  return (
    <figure class="job-history" aria-hidden="true">
      <div>
        {dates.map((date) => {
          const day = dayByDate.get(date);
          const failed = day?.failed ?? 0;
          return (
            <span key={date} title={`${date}: ${countValues(countTotal(day), 'job')}, ${formatCount(failed)} failed`}>
              <i class="is-failed" style={computeShare(failed)} />
              <i style={computeShare(countTotal(day) - failed)} />
            </span>
          );
        })}
      </div>
      <figcaption>
        <span>{dates[0]}</span>
        <span>at most {countValues(most, 'job')} a day</span>
        <span>{dates.at(-1)}</span>
      </figcaption>
    </figure>
  );
}

function groupByDay(jobs: readonly JobStatus[]): readonly Day[] {
  const byDay = new Map<string, JobStatus[]>();
  for (const job of jobs) {
    if (job.finished_at === null) continue;
    const date = formatMoment(job.finished_at).slice(0, 'YYYY-MM-DD'.length);
    byDay.set(date, [...(byDay.get(date) ?? []), job]);
  }
  return Array.from(byDay, ([date, all]): Day => {
    const countOf = (status: JobStatus['status']) => all.filter((job) => job.status === status).length;
    const seconds = all
      .flatMap(({ started_at: from, finished_at: to }) =>
        from === null || to === null ? [] : [computeSecondsBetween(from, to)],
      )
      .toSorted((a, b) => a - b);
    return {
      date,
      succeeded: countOf('succeeded'),
      failed: countOf('failed'),
      cancelled: countOf('cancelled'),
      repeated: all.filter(({ attempt }) => attempt > 1).length,
      median: seconds[Math.floor(seconds.length / 2)] ?? null,
      longest: seconds.at(-1) ?? null,
    };
  });
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
    title: 'Median duration',
    width: 130,
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
