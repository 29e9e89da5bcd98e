import { ActionButton } from '../../components/action-button.js';
import { Banner } from '../../components/banner.js';
import { Findings } from '../../components/findings.js';
import { MissingData } from '../../components/missing-data.js';
import { isLater, useFailedRuns } from '../../state/failed-runs.js';
import { formatAddress } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { isUnregistered, useStores } from '../../state/stores.js';
import { formatMoment } from '../../words/dates.js';
import { listJobFindings } from '../../words/jobs.js';
import { findRuleAddress } from './rule-address.js';
import { runAfterFailure } from './run-settings.js';
import { formatRunSubject } from '../../state/refusals.js';
import { readNewestRun } from './run-terms.js';

interface FailedRunProps {
  readonly id: string;
  /** True for a strategy. The rules belong to the index that it follows, so its findings have no link. */
  readonly isStrategy: boolean;
  /** Data store of the index; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
}

/** Renders why the last run failed. It is shown until the next run. */
export function FailedRun({ id, isStrategy, store = null }: FailedRunProps) {
  const job = useFailedRuns().get(id);
  const isStoreMissing = isUnregistered(useStores(job !== undefined && store !== null).data?.stores, store);
  const storedRun = useResource(job === undefined ? null : `run before the failure ${job.finished_at}`, (signal) =>
    readNewestRun(id, signal),
  );
  if (job === undefined || storedRun.data === undefined || !isLater(job, storedRun.data?.run_at)) return null;
  const { error, finished_at: finished, job_id: jobId } = job;
  const findings = listJobFindings(error);
  const message = error?.message ?? 'the job reports no reason.';
  const findAddress = (path: string) => findRuleAddress(id, path);
  // If there is only one finding, the title often contains it already.
  const [first] = findings;
  const isStated = findings.length === 1 && first !== undefined && message.includes(first.message);
  const unstatedFindings = isStated ? [] : findings;
  const address = isStated && !isStrategy ? findAddress(first.path) : null;
  return (
    <Banner
      kind="bad"
      title={`The last run failed: ${message}`}
      action={
        may('run') &&
        !isStoreMissing && (
          <ActionButton about={formatRunSubject(id)} act={(onRefusal) => runAfterFailure(id, job, onRefusal)}>
            Run again
          </ActionButton>
        )
      }
    >
      {unstatedFindings.length > 0 && (
        <Findings findings={unstatedFindings} shown={3} formatAddress={isStrategy ? undefined : findAddress} />
      )}
      {isStoreMissing && <MissingData store={store} />}
      <p class="quiet">
        {address !== null && (
          <>
            <a href={address}>{first?.row_id == null ? 'Edit the rules' : `Edit the rule ${first.row_id}`}</a> ·{' '}
          </>
        )}
        {finished !== null && `${formatMoment(finished)} · `}
        <a href={formatAddress('/console/jobs', { job: jobId })}>The job</a>
        {storedRun.data !== null && ' · the previous run is shown'}
      </p>
    </Banner>
  );
}
