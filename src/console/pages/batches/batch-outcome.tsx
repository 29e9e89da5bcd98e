import type { BatchView, JobStatus } from '#clients/typescript/divisor.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { count, NONE, percent } from '../../words/numbers.js';

/** Renders the median tracking error of a batch and the number of solved accounts. */
export function BatchOutcome({ job: { job_id: id, status } }: { readonly job: JobStatus }) {
  const job = useResource(
    status === 'succeeded' ? `outcome ${id}` : null,
    (signal) => service.value.call('getJob', { params: { job_id: id }, signal }),
    { follows: false, isLater: true },
  );
  if (status !== 'succeeded') return <>{NONE}</>;
  if (job.data === undefined) return <></>;
  const { by_status: by, accounts, tracking_error: error } = job.data.result as BatchView; // the kind of the job determines the type of its result
  const solved = accounts - (by['infeasible'] ?? 0) - (by['refused'] ?? 0);
  return (
    <>
      {percent(error?.['p50'])}{' '}
      <span class="quiet">
        {count(solved)} of {count(accounts)} solved
      </span>
    </>
  );
}
