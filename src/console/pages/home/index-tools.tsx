import { Button, LinkButton } from '../../components/button.js';
import { runIndex } from '../../state/actions.js';
import { getBacktestRequest } from '../../state/failed-runs.js';
import { health, liveJobs } from '../../state/live.js';
import { may } from '../../state/principal.js';
import type { RefusedQuery } from '../../state/refusals.js';
import { formatCompareAddress } from '../../words/addresses.js';
import { formatLabel } from '../../words/labels.js';
import { formatRunSubject } from '../../state/refusals.js';
import type { Row } from './index-row.js';

interface IndexToolsProps {
  readonly rows: readonly Row[];
  /** Ids of the selected indices. An empty list means all indices. */
  readonly selected: readonly string[];
  readonly asking: RefusedQuery;
}

/** Renders actions on the selected indices. If none is selected, the actions apply to all indices. */
export function IndexTools({ rows, selected, asking }: IndexToolsProps) {
  const meant = selected.length === 0 ? rows : rows.filter(({ index }) => selected.includes(index.id));
  const running = new Set(liveJobs.value.map(({ job_id: id }) => id));
  const due = meant.filter(
    (row) =>
      row.isKnown &&
      !row.isStoreMissing &&
      (row.failed !== null || row.run === null || row.run.stale !== null) &&
      (selected.length > 0 || !isMoved(row)) &&
      !running.has(`backtest:${row.index.id}`),
  );
  const dueGroups = groupDue(due);
  const withRun = meant.filter(({ run }) => run !== null).map(({ index }) => index.id);
  const run = () =>
    asking.askAll(
      due.map(({ index, failed }) => ({
        about: formatRunSubject(index.id),
        request: (onRefusal) =>
          runIndex(index.id, failed === null ? { if_stale: true } : getBacktestRequest(failed), (trouble) =>
            onRefusal({ ...trouble, message: `${index.id}: ${trouble.message}` }),
          ),
      })),
    );
  return (
    <>
      {due.length > 1 && may('run') && (
        <Button kind="bare" title={listIds(dueGroups).join('. ')} onClick={() => void run()}>
          Run {countByReason(dueGroups)}
          {due.some(isMoved) && ` on ${health.value?.store?.active}`}
        </Button>
      )}
      {selected.length > 1 && withRun.length > 1 && (
        <LinkButton kind="bare" href={formatCompareAddress(withRun)}>
          Compare {withRun.length}
        </LinkButton>
      )}
    </>
  );
}

/**
 * Returns true if a run would replace the results on another store by results on the served store. Such an index is run
 * only if it is selected.
 */
const isMoved = ({ run, failed }: Row): boolean => failed === null && run?.stale?.store_id != null;

/** Reasons to run an index, in the order of the button. */
const REASONS = ['stale', 'failed', 'unreadable', 'new'] as const;

const getReason = ({ index, run, failed }: Row): (typeof REASONS)[number] => {
  if (failed !== null) return 'failed';
  return run !== null ? 'stale' : index.has_run ? 'unreadable' : 'new';
};

interface DueGroup {
  readonly reason: (typeof REASONS)[number];
  readonly ids: readonly string[];
}

/** Groups indices by the reason to run them. */
const groupDue = (due: readonly Row[]): readonly DueGroup[] =>
  REASONS.map((reason) => ({
    reason,
    ids: due.filter((row) => getReason(row) === reason).map(({ index }) => index.id),
  })).filter(({ ids }) => ids.length > 0);

/** Counts the indices to run by reason, for example `3 stale, 1 failed and 2 new indices`. */
function countByReason(groups: readonly DueGroup[]): string {
  const counts = new Intl.ListFormat('en-GB').format(groups.map(({ reason, ids }) => `${ids.length} ${reason}`));
  return `${counts} ${groups.at(-1)?.ids.length === 1 ? 'index' : 'indices'}`;
}

/** Lists the ids of the indices to run by reason. */
const listIds = (groups: readonly DueGroup[]): readonly string[] =>
  groups.map(({ reason, ids }) => `${formatLabel(reason)}: ${ids.join(', ')}`);
