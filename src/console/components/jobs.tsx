import './job-table.css';
import type { JobStatus } from '#clients/typescript/divisor.js';
import { cancelJob, type OnRefusal, retryJob } from '../state/actions.js';
import { getJob } from '../state/live.js';
import { may } from '../state/service.js';
import { computeSecondsBetween, formatDuration, formatMoment } from '../words/dates.js';
import {
  describeSubject,
  describeTerms,
  estimateRemainingSeconds,
  formatJobAddress,
  formatJobId,
  formatJobTitle,
  formatKind,
  formatShortId,
  isWithoutResult,
  listJobFindings,
  STATUS_KINDS,
} from '../words/jobs.js';
import { formatPercent, MISSING_TEXT } from '../words/numbers.js';
import { ActionButton } from './controls/action-button.js';
import { Button } from './controls/button.js';
import { Badge, Banner, Findings, Progress } from './feedback.js';
import type { Column } from './table/model.js';
import { Table } from './table/table.js';

interface JobStateProps {
  readonly job: JobStatus;
  /** Repeats the request. Default: the request cannot be repeated. */
  readonly onAgain?: (onRefusal: OnRefusal) => Promise<unknown>;
}

/** Renders a running job, or the outcome of a job that ended without a result. */
export function JobState({ job, onAgain }: JobStateProps) {
  const { status, progress, message, error } = job;
  if (status === 'succeeded') return null;
  if (status === 'cancelled')
    return (
      <Banner
        kind="warning"
        title="The job was cancelled."
        action={onAgain && may('run') && <ActionButton act={onAgain}>Run again</ActionButton>}
      />
    );
  if (status === 'failed') {
    return error?.code === 'INFEASIBLE' ? null : (
      <Banner kind="bad" title={error?.message ?? 'The job failed.'}>
        {error !== null && (
          <>
            <Findings findings={listJobFindings(error)} />
            <p>
              <code>{error.code}</code>
            </p>
          </>
        )}
      </Banner>
    );
  }
  const left = estimateRemainingSeconds(job, Date.now());
  return (
    <Banner
      kind="info"
      title={status === 'pending' ? 'The job is queued' : `Running: ${formatPercent(progress, 0)}`}
      action={
        may('run') && (
          <Button kind="bare" onClick={() => cancelJob(job.job_id)}>
            Cancel
          </Button>
        )
      }
    >
      <p>
        {message}
        {left !== null && <span class="quiet"> About {formatDuration(left)} left.</span>}
      </p>
      <Progress value={progress} label={formatJobTitle(job)} />
    </Banner>
  );
}

interface JobTableProps {
  readonly jobs: readonly JobStatus[];
  readonly label: string;
  readonly name?: string;
  readonly height?: number;
  readonly searches?: boolean;
  /** True if all jobs are of one kind; the kind is then hidden. */
  readonly isOneKind?: boolean;
  /** Opens a job. Default: a row links to the page of its result. */
  onOpen?(jobId: string): void;
  readonly openKey?: string | null;
  /** Further columns after the subject. */
  readonly moreColumns?: readonly Column<JobStatus>[];
  /** Indices of reports by job, for requests that do not name them. */
  readonly indices?: ReadonlyMap<string, string>;
}

/** Renders jobs, newest first. The rows of running jobs are updated automatically. */
export function JobTable({ jobs, label, name, height = 560, searches = false, ...rest }: JobTableProps) {
  const { onOpen, openKey = null } = rest;
  const rows = jobs.map((job) => getJob(job.job_id) ?? job);
  return (
    <Table<JobStatus>
      label={label}
      {...(name === undefined ? {} : { name })}
      columns={createColumns(rows, rest)}
      rows={rows}
      getKey={({ job_id: id }) => id}
      {...(onOpen === undefined
        ? { formatAddress: formatJobAddress }
        : { onOpen: ({ job_id: id }: JobStatus) => onOpen(id) })}
      openKey={openKey}
      {...(searches ? { searchIn: formatJob } : {})}
      sort={{ column: 'created', direction: 'desc' }}
      height={height}
    />
  );
}

/** Returns the columns of a list of jobs. Columns that would be empty for all jobs are left out. */
function createColumns(
  jobs: readonly JobStatus[],
  { isOneKind = false, indices, moreColumns = [] }: Pick<JobTableProps, 'isOneKind' | 'indices' | 'moreColumns'>,
): readonly Column<JobStatus>[] {
  const hiddenColumns = new Set([
    ...(isOneKind ? ['kind'] : []),
    ...(jobs.every(isOver) ? ['progress'] : []),
    ...(jobs.every((job) => formatDescription(job) === '') ? ['message'] : []),
    ...(jobs.every(isQuiet) ? ['cancel'] : []),
  ]);
  return [KIND_COLUMN, createSubjectColumn(indices), ...moreColumns, ...COLUMNS].filter(
    ({ id }) => !hiddenColumns.has(id),
  );
}

/**
 * Returns the description of a job: its error or message, otherwise the terms of its request. `Done.` is removed,
 * because the state of the job already says it.
 */
const formatDescription = ({ kind, error, message, request }: JobStatus): string =>
  error?.message ?? (message.replace(/^Done\.\s*/, '') || describeTerms({ kind, request }));

const formatJob = (job: JobStatus): string => `${job.job_id} ${describeSubject(job)} ${job.status} ${job.message}`;

/** Returns true for jobs that need no attention: they ended without a failure. */
export const isQuiet = ({ status }: JobStatus): boolean => status === 'succeeded' || status === 'cancelled';

export const isOver = ({ status }: JobStatus): boolean => status !== 'pending' && status !== 'running';

/** Renders the button that cancels an unfinished job or repeats a failed job. */
export function JobAct({ job }: { readonly job: JobStatus }) {
  const { job_id: id, status } = job;
  if (status === 'failed')
    return (
      <Button kind="bare" aria-label={`Retry ${formatJobTitle(job)}`} onClick={() => retryJob(id)}>
        Retry
      </Button>
    );
  return isOver(job) ? null : (
    <Button kind="bare" aria-label={`Cancel ${formatJobTitle(job)}`} onClick={() => cancelJob(id)}>
      Cancel
    </Button>
  );
}

/** Formats the estimated time to the end of a job; empty if it is unknown. */
function formatLeft(job: JobStatus): string {
  const left = estimateRemainingSeconds(job, Date.now());
  return left === null ? '' : `${formatDuration(left)} left`;
}

const formatJobDuration = ({ started_at: from, finished_at: to }: JobStatus): string =>
  from === null ? MISSING_TEXT : formatDuration(computeSecondsBetween(from, to));

const createSubjectColumn = (indices: JobTableProps['indices']): Column<JobStatus> => ({
  id: 'ident',
  title: 'Subject',
  width: 150,
  ideal: 280,
  grow: 4.6,
  lines: 2,
  value: formatJobId,
  show: (job) => {
    const subject = [indices?.get(job.job_id), describeSubject(job)].filter(Boolean).join(', ');
    return (
      <span title={[subject, formatJobId(job)].filter(Boolean).join(', ')}>
        <strong>{subject || formatJobId(job)}</strong>{' '}
        {subject !== '' && <span class="quiet">{formatShortId(job)}</span>}
      </span>
    );
  },
});

const KIND_COLUMN: Column<JobStatus> = {
  id: 'kind',
  title: 'Kind',
  width: 136,
  priority: 2,
  value: ({ kind }) => formatKind(kind),
};

const COLUMNS: readonly Column<JobStatus>[] = [
  {
    id: 'status',
    title: 'State',
    width: 96,
    show: (job) =>
      isWithoutResult(job) ? (
        <Badge kind="warning">no result</Badge>
      ) : (
        <Badge kind={STATUS_KINDS[job.status]}>{job.status}</Badge>
      ),
  },
  {
    id: 'progress',
    title: 'Progress',
    help: 'With the estimated time to the end, at the present pace',
    width: 132,
    priority: 3,
    show: (job) =>
      isOver(job) ? (
        job.status !== 'succeeded' && <span class="quiet">{formatPercent(job.progress, 0)}</span>
      ) : (
        <span class="pile gap-2 small second job-progress">
          <Progress value={job.progress} label={job.job_id} />
          {formatLeft(job)}
        </span>
      ),
    showBelow: (job) => !isOver(job) && [formatPercent(job.progress, 0), formatLeft(job)].filter(Boolean).join(', '),
  },
  {
    id: 'message',
    title: 'Description',
    width: 140,
    grow: 4,
    priority: 4,
    value: formatDescription,
    showBelow: (job) => (isWithoutResult(job) ? formatDescription(job) : job.error?.message),
    show: (job) => <span title={formatDescription(job)}>{formatDescription(job)}</span>,
  },
  {
    id: 'created',
    title: 'Submitted',
    width: 172,
    priority: 2,
    value: (job) => job.created_at,
    showBelow: (job) => formatMoment(job.created_at),
    show: (job) => formatMoment(job.created_at),
  },
  {
    id: 'took',
    title: 'Duration',
    width: 84,
    priority: 3,
    align: 'right',
    value: (job) => (job.started_at === null ? null : computeSecondsBetween(job.started_at, job.finished_at)),
    show: formatJobDuration,
    showBelow: formatJobDuration,
  },
  {
    id: 'cancel',
    title: '',
    head: () => <span class="unseen">Cancel or retry</span>,
    width: 76,
    value: () => null,
    show: (job) => may('run') && <JobAct job={job} />,
  },
];
