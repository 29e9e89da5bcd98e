import { ActionButton } from '../../components/action-button.js';
import { Banner } from '../../components/banner.js';
import { Button, LinkButton } from '../../components/button.js';
import { Icon } from '../../components/icon.js';
import { Menu } from '../../components/menu.js';
import { Progress } from '../../components/progress.js';
import { usePhone } from '../../components/use-phone.js';
import { cancelJob } from '../../state/actions.js';
import { liveJobs } from '../../state/live.js';
import { formatAddress } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { isUnregistered, useStores } from '../../state/stores.js';
import { readShownRun } from '../../state/shown-run.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatPercent } from '../../words/numbers.js';
import { FailedRun } from './failed-run.js';
import { hasOpenTerms, runAsAsked } from './run-settings.js';
import { formatRunSubject } from '../../state/refusals.js';

interface Action {
  readonly address: string;
  readonly text: string;
}

interface IndexActionsProps extends Pick<RunActionsProps, 'id' | 'store'> {
  readonly isOverlay: boolean;
}

/** Renders the actions on an index. */
export function IndexActions({ id, store, isOverlay }: IndexActionsProps) {
  const otherActions = isOverlay
    ? []
    : [
        { address: formatAddress('/console/optimise', { index: id }), text: 'Optimise' },
        { address: formatAddress('/console/strategies/new', { index: id }), text: 'Follow' },
      ];
  const overlay = { address: formatAddress('/console/indices/new', { beneath: id }), text: 'Overlay' };
  return <RunActions {...{ id, store }} edit={`${formatIndexAddress(id)}/edit`} others={[...otherActions, overlay]} />;
}

interface RunActionsProps {
  readonly id: string;
  /** Data store of the index; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
  readonly isStrategy?: boolean;
  /** Address of the editor. */
  readonly edit: string;
  readonly others?: readonly Action[];
}

/** Renders the actions on an index or a strategy and on its run. On a phone, all actions except Run are in a menu. */
export function RunActions({ id, store = null, isStrategy = false, edit, others = [] }: RunActionsProps) {
  const isPhone = usePhone();
  const isRunning = liveJobs.value.some(({ job_id: job }) => job === `backtest:${id}`);
  const links: readonly Action[] = [
    ...(may('write') ? [{ address: edit, text: 'Edit' }, ...others] : []),
    ...(may('run')
      ? [{ address: formatAddress('/console/reports', { index: id, ...readShownRun() }), text: 'Report' }]
      : []),
  ];
  const isStoreMissing = isUnregistered(useStores(store !== null).data?.stores, store);
  const run = !hasOpenTerms.value && may('run') && !isStoreMissing && (
    <ActionButton
      about={formatRunSubject(id)}
      disabled={isRunning}
      act={(onRefusal) => runAsAsked({ id, isStrategy }, onRefusal)}
    >
      <Icon name="play" /> Run
    </ActionButton>
  );
  if (isPhone)
    return (
      <>
        {run}
        {links.length > 0 && (
          <Menu label={`Other actions on ${id}`} title={<span aria-hidden="true">⋯</span>}>
            {links.map(({ address, text }) => (
              <li key={address}>
                <a href={address}>{text}</a>
              </li>
            ))}
          </Menu>
        )}
      </>
    );
  return (
    <>
      {links.map(({ address, text }) => (
        <LinkButton key={address} href={address}>
          {address === edit && <Icon name="edit" />} {text}
        </LinkButton>
      ))}
      {run}
    </>
  );
}

type RunStateProps = Pick<RunActionsProps, 'id' | 'store' | 'isStrategy'>;

/** Renders the progress of a running job, or the cause of a failed run. */
export function RunState({ id, store, isStrategy = false }: RunStateProps) {
  const job = liveJobs.value.find(({ job_id: jobId }) => jobId === `backtest:${id}`);
  if (job === undefined) return <FailedRun {...{ id, store, isStrategy }} />;
  return (
    <Banner
      kind="info"
      title={job.status === 'pending' ? 'A run is queued' : `Running: ${formatPercent(job.progress, 0)}`}
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
