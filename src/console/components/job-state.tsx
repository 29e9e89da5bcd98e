import type { JobStatus } from '#clients/typescript/divisor.js';
import { cancelJob, type OnRefusal } from '../state/actions.js';
import { may } from '../state/principal.js';
import { formatDuration } from '../words/dates.js';
import { estimateRemainingSeconds, formatJobTitle, listJobFindings } from '../words/jobs.js';
import { formatPercent } from '../words/numbers.js';
import { ActionButton } from './action-button.js';
import { Banner } from './banner.js';
import { Button } from './button.js';
import { Findings } from './findings.js';
import { Progress } from './progress.js';

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
