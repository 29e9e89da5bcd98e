import type { JobStatus } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Banner } from '../../components/banner.js';
import { Button } from '../../components/button.js';
import { Select } from '../../components/choice.js';
import { EmptyState } from '../../components/empty-state.js';
import { JobAct, JobTable } from '../../components/job-table.js';
import { Metrics } from '../../components/metrics.js';
import { Page } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { getJob, liveJobs } from '../../state/live.js';
import { addQuery, getParameter, setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatDuration, formatMoment, computeSecondsBetween } from '../../words/dates.js';
import { formatJobTitle, isWithoutResult, KINDS } from '../../words/jobs.js';
import { countValues, formatCount, MISSING_TEXT } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { formatReportIndices } from '../reports/report-names.js';
import { JobPanel } from './job-panel.js';

type Kind = JobStatus['kind'];
type State = JobStatus['status'];

const STATES = ['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const satisfies readonly State[];
const LIMIT_DEFAULT = 100;
/** Maximum number of jobs in a response. */
const JOBS_MAX = 500;

/** Page of all jobs: pending, running and ended. Each job opens to its request and result. */
export function JobsPage() {
  const [limit, setLimit] = useState(LIMIT_DEFAULT);
  const kind = (Object.keys(KINDS) as Kind[]).find((known) => known === getParameter('kind'));
  const status = STATES.find((known) => known === getParameter('state'));
  const openJob = getParameter('job');
  const jobs = useResource(
    `jobs ${kind} ${status} ${limit}`,
    (signal) =>
      service.value.call('listJobs', {
        query: { limit, kind: kind && [kind], status: status && [status] },
        signal,
      }),
    { keeps: true },
  );
  const indices = useRenderedIndices(jobs.data?.jobs ?? []);
  return (
    <Page
      title="Jobs"
      subtitle={jobs.data && formatPeriod(jobs.data.jobs)}
      actions={
        <>
          <Select
            label="Kind"
            isLabelShown
            options={[
              { value: '', text: 'all' },
              ...Object.entries(KINDS).map(([value, text]) => ({ value: value as Kind, text })),
            ]}
            value={kind ?? ''}
            onChoose={(chosen) => setParameters({ kind: chosen === '' ? null : chosen })}
          />
          <Select
            label="State"
            isLabelShown
            options={[{ value: '', text: 'all' }, ...STATES.map((value) => ({ value, text: value }))]}
            value={status ?? ''}
            onChoose={(chosen) => setParameters({ state: chosen === '' ? null : chosen })}
          />
        </>
      }
    >
      <Answered resource={jobs} what="the jobs">
        {({ jobs: all }) =>
          all.length === 0 ? (
            <EmptyState title="No job">
              {kind === undefined && status === undefined
                ? 'Runs, optimisations, sweeps, reports and refreshes are listed here.'
                : 'No jobs of this kind and state.'}
            </EmptyState>
          ) : (
            <>
              <Counts jobs={addLiveJobs(all, kind, status)} />
              {status === undefined && <FailedJobs jobs={all} />}
              <JobTable
                jobs={addLiveJobs(all, kind, status)}
                label="jobs"
                name="jobs"
                height={680}
                searches
                indices={indices}
                onOpen={(id) => setParameters({ job: id })}
                openKey={openJob}
              />
              {all.length === limit && limit < JOBS_MAX && (
                <div>
                  <Button onClick={() => setLimit(JOBS_MAX)}>Older ones</Button>
                </div>
              )}
            </>
          )
        }
      </Answered>
      {openJob !== null && <JobPanel key={openJob} id={openJob} onClose={() => setParameters({ job: null })} />}
    </Page>
  );
}

/** Formats the number of listed jobs and the time of the oldest, for example `29 jobs since 2026-11-26 22:08 UTC`. */
function formatPeriod(jobs: readonly JobStatus[]): string {
  const oldest = jobs.map(({ created_at: time }) => time).toSorted()[0];
  return oldest === undefined ? '' : `${countValues(jobs.length, 'job')} since ${formatMoment(oldest)}`;
}

/** Returns the indices of the reports of jobs whose requests name none, because the template names them. */
function useRenderedIndices(jobs: readonly JobStatus[]): ReadonlyMap<string, string> {
  const isNeeded = jobs.some(({ kind, request }) => kind === 'render' && (request as JsonObject)['index_id'] === null);
  const renders = useResource(isNeeded ? 'renders of jobs' : null, (signal) =>
    service.value.call('listRenders', { query: { limit: JOBS_MAX }, signal }),
  );
  const unnamed = (renders.data?.renders ?? []).filter(({ index_id: id }) => id === null);
  return new Map(unnamed.map((render) => [`render:${render.render_id}`, formatReportIndices(render)]));
}

/** Maximum number of failed jobs above the list. */
const FAILED_MAX = 3;

/** Renders the newest failed jobs with their reasons. */
function FailedJobs({ jobs }: { readonly jobs: readonly JobStatus[] }) {
  const failedJobs = jobs.map((job) => getJob(job.job_id) ?? job).filter((job) => job.status === 'failed');
  if (failedJobs.length === 0) return null;
  return (
    <Banner kind="bad" title={countValues(failedJobs.length, 'failed job')}>
      {failedJobs.slice(0, FAILED_MAX).map((job) => (
        <p key={job.job_id}>
          <a href={addQuery({ job: job.job_id })}>{formatJobTitle(job)}</a>: {job.error?.message}{' '}
          {may('run') && <JobAct job={job} />}
        </p>
      ))}
      {failedJobs.length > FAILED_MAX && <a href={addQuery({ state: 'failed' })}>All failed jobs</a>}
    </Banner>
  );
}

function Counts({ jobs }: { readonly jobs: readonly JobStatus[] }) {
  const countJobs = (...states: State[]) => jobs.filter((job) => states.includes(job.status)).length;
  const took = jobs
    .flatMap(({ started_at: from, finished_at: to }) =>
      from === null || to === null ? [] : [computeSecondsBetween(from, to)],
    )
    .toSorted((a, b) => a - b);
  const median = took[Math.floor(took.length / 2)];
  const failedCount = countJobs('failed');
  const withoutResult = jobs.filter(isWithoutResult).length;
  return (
    <Metrics
      label="Listed jobs"
      metrics={[
        { term: 'Running', value: formatCount(countJobs('running')) },
        { term: 'Waiting', value: formatCount(countJobs('pending')) },
        {
          term: 'Succeeded',
          value: formatCount(countJobs('succeeded') - withoutResult),
          note:
            withoutResult > 0
              ? `${formatCount(withoutResult)} more without a result`
              : `of ${formatCount(jobs.length)} listed`,
        },
        { term: 'Failed', value: formatCount(failedCount), kind: failedCount > 0 ? 'down' : '' },
        { term: 'Median duration', value: median === undefined ? MISSING_TEXT : formatDuration(median) },
        { term: 'Longest', value: took.length === 0 ? MISSING_TEXT : formatDuration(took.at(-1)!) },
      ]}
    />
  );
}

/** Adds jobs that started after the list was read. */
function addLiveJobs(
  listed: readonly JobStatus[],
  kind: Kind | undefined,
  status: State | undefined,
): readonly JobStatus[] {
  const ids = new Set(listed.map(({ job_id: id }) => id));
  const otherJobs = liveJobs.value.filter(
    (job) =>
      !ids.has(job.job_id) &&
      (kind === undefined || job.kind === kind) &&
      (status === undefined || job.status === status),
  );
  return [...otherJobs, ...listed];
}
