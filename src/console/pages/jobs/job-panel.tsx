import type { Finding, JobStatus } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Banner } from '../../components/banner.js';
import { LinkButton } from '../../components/button.js';
import { Facts } from '../../components/facts.js';
import { Findings } from '../../components/findings.js';
import { JobState } from '../../components/job-state.js';
import { JsonDocument } from '../../components/json-document.js';
import { SidePanel } from '../../components/side-panel.js';
import { Answered } from '../../components/wait.js';
import { jobOf } from '../../state/live.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { duration, moment, secondsBetween } from '../../words/dates.js';
import { jobAddress, jobTitle, STATUS_KINDS } from '../../words/jobs.js';

interface JobPanelProps {
  readonly id: string;
  onClose(): void;
}

/** One job: what was asked, how it went, what went wrong. */
export function JobPanel({ id, onClose }: JobPanelProps) {
  const job = useResource(`job ${id}`, (signal) => service.value.call('getJob', { params: { job_id: id }, signal }));
  return (
    <SidePanel title={job.data === undefined ? id : jobTitle(job.data)} onClose={onClose}>
      <Answered resource={job} what="the job">
        {(stored) => <Job job={{ ...stored, ...jobOf(id) }} />}
      </Answered>
    </SidePanel>
  );
}

function Job({ job }: { readonly job: JobStatus }) {
  const { status, error, created_at: created, started_at: started, finished_at: finished } = job;
  const findings = (error?.detail?.['findings'] ?? []) as readonly Finding[]; // The contract gives codes of validation this member.
  return (
    <>
      {status === 'failed' ? (
        <Banner kind="bad" title={error?.message ?? 'The job failed.'}>
          {error !== null && <code>{error.code}</code>}
          {findings.length > 0 && <Findings findings={findings} />}
        </Banner>
      ) : (
        <JobState job={job} />
      )}
      {status === 'succeeded' && (
        <div>
          <LinkButton kind="main" href={jobAddress(job)}>
            Open the result
          </LinkButton>
        </div>
      )}
      <Facts
        facts={[
          ['State', <Badge kind={STATUS_KINDS[status]}>{status}</Badge>],
          ['Message', status === 'failed' ? null : job.message || null],
          ['Asked for', moment(created)],
          ['Begun', started && moment(started)],
          ['Ended', finished && moment(finished)],
          ['Took', started && duration(secondsBetween(started, finished))],
          ['Attempt', String(job.attempt)],
          ['Id', <code>{job.job_id}</code>],
          ['Request id', job.request_id && <code>{job.request_id}</code>],
          ['Input', <code title={job.input_hash}>{job.input_hash.slice(0, 16)}…</code>],
        ]}
      />
      <h3>Request</h3>
      <JsonDocument label="Request as JSON" value={job.request} />
    </>
  );
}
