import { ActionButton } from '../../components/action-button.js';
import { Banner } from '../../components/banner.js';
import { Button, LinkButton } from '../../components/button.js';
import { Icon } from '../../components/icon.js';
import { Progress } from '../../components/progress.js';
import { cancelJob } from '../../state/actions.js';
import { liveJobs } from '../../state/live.js';
import { addressOf } from '../../state/place.js';
import { may } from '../../state/principal.js';
import { readShownRun } from '../../state/shown-run.js';
import { indexAddress } from '../../words/addresses.js';
import { percent } from '../../words/numbers.js';
import { FailedRun } from './failed-run.js';
import { runAsAsked } from './run-settings.js';
import { runOf } from '../../state/refusals.js';

/** Renders the actions on an index. */
export function IndexActions({ id, isOverlay }: { readonly id: string; readonly isOverlay: boolean }) {
  return (
    <>
      {may('write') && (
        <LinkButton href={`${indexAddress(id)}/edit`}>
          <Icon name="edit" /> Edit
        </LinkButton>
      )}
      {may('write') && !isOverlay && (
        <>
          <LinkButton href={addressOf('/console/optimise', { index: id })}>Optimise</LinkButton>
          <LinkButton href={addressOf('/console/strategies/new', { index: id })}>Follow</LinkButton>
        </>
      )}
      {may('write') && <LinkButton href={addressOf('/console/indices/new', { beneath: id })}>Overlay</LinkButton>}
      <RunActions id={id} isStrategy={false} />
    </>
  );
}

/** Renders the actions on the run of an index or a strategy. */
export function RunActions({ id, isStrategy }: { readonly id: string; readonly isStrategy: boolean }) {
  const isRunning = liveJobs.value.some(({ job_id: job }) => job === `backtest:${id}`);
  return (
    <>
      {may('run') && (
        <LinkButton href={addressOf('/console/reports', { index: id, ...readShownRun() })}>Report</LinkButton>
      )}
      {may('run') && (
        <ActionButton
          about={runOf(id)}
          disabled={isRunning}
          act={(onRefusal) => runAsAsked({ id, isStrategy }, onRefusal)}
        >
          <Icon name="play" /> Run
        </ActionButton>
      )}
    </>
  );
}

interface RunStateProps {
  readonly id: string;
  readonly isStrategy?: boolean;
}

/** Renders the progress of a running job, or the cause of a failed run. */
export function RunState({ id, isStrategy = false }: RunStateProps) {
  const job = liveJobs.value.find(({ job_id: jobId }) => jobId === `backtest:${id}`);
  if (job === undefined) return <FailedRun id={id} isStrategy={isStrategy} />;
  return (
    <Banner
      kind="info"
      title={job.status === 'pending' ? 'A run is queued' : `Running: ${percent(job.progress, 0)}`}
      action={
        may('run') && (
          <Button kind="bare" onClick={() => cancelJob(job.job_id)}>
            Cancel
          </Button>
        )
      }
    >
      <p>{job.message}</p>
      <Progress value={job.progress} label={`Backtest of ${id}`} />
    </Banner>
  );
}
