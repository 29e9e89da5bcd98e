import { Badge } from '../../components/badge.js';
import { Section } from '../../components/page.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatMoment } from '../../words/dates.js';
import { formatJobAddress, formatJobTitle, STATUS_KINDS } from '../../words/jobs.js';

const SHOWN_MAX = 6;

/** Renders the latest jobs with links to their results. */
export function LatestJobs() {
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
