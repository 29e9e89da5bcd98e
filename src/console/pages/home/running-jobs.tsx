import { Button } from '../../components/button.js';
import { Progress } from '../../components/progress.js';
import { Section } from '../../components/page.js';
import { cancelJob } from '../../state/actions.js';
import { liveJobs } from '../../state/live.js';
import { may } from '../../state/principal.js';
import { formatDuration, computeSecondsBetween } from '../../words/dates.js';
import { formatJobAddress, formatJobTitle } from '../../words/jobs.js';
import { formatPercent } from '../../words/numbers.js';

const SHOWN_MAX = 6;

/** Renders the queued and running jobs. */
export function RunningJobs() {
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
