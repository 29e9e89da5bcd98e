import { Button, LinkButton } from '../../components/button.js';
import { runIndex } from '../../state/actions.js';
import { getBacktestRequest } from '../../state/failed-runs.js';
import { liveJobs } from '../../state/live.js';
import { may } from '../../state/principal.js';
import type { RefusedQuery } from '../../state/refusals.js';
import { formatCompareAddress } from '../../words/addresses.js';
import { countValues } from '../../words/numbers.js';
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
    ({ index, run, isKnown, failed }) =>
      isKnown && (failed !== null || run === null || run.stale !== null) && !running.has(`backtest:${index.id}`),
  );
  const withRun = meant.filter(({ run }) => run !== null).map(({ index }) => index.id);
  const run = async () => {
    for (const { index, failed } of due)
      await asking.ask(formatRunSubject(index.id), (onRefusal) =>
        runIndex(index.id, failed === null ? { if_stale: true } : getBacktestRequest(failed), onRefusal),
      );
  };
  return (
    <>
      {due.length > 1 && may('run') && (
        <Button kind="bare" title={due.map(({ index }) => index.id).join(', ')} onClick={() => void run()}>
          Run {selected.length === 0 ? countDue(due) : `${due.length} selected`}
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

/** Formats the number of indices to run. They are called stale only if each of them has a run and none has failed. */
const countDue = (due: readonly Row[]): string =>
  due.every(({ run, failed }) => failed === null && run !== null)
    ? countValues(due.length, 'stale index', 'stale indices')
    : `${countValues(due.length, 'index', 'indices')} not up to date`;
