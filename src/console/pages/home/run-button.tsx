import type { JobStatus } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Icon } from '../../components/icon.js';
import { runIndex } from '../../state/actions.js';
import { getBacktestRequest } from '../../state/failed-runs.js';
import { may } from '../../state/principal.js';
import { findRefusal, formatRunSubject, type RefusedQuery } from '../../state/refusals.js';

interface RunButtonProps {
  readonly id: string;
  /** Last run if it failed. The button then repeats the failed request. */
  readonly failed: JobStatus | null;
  /** Requests and errors of the table. An error is shown in full above the table. */
  readonly asking: RefusedQuery;
}

/** Renders a button that runs the index of a row. An error is shown in the row. */
export function RunButton({ id, failed, asking }: RunButtonProps) {
  const refusal = asking.trouble === null ? null : findRefusal(formatRunSubject(id));
  return (
    <>
      {refusal !== null && (
        <Badge kind="bad" title={refusal.message}>
          refused
        </Badge>
      )}
      {may('run') && (
        <Button
          kind="bare"
          aria-label={`Run ${id}`}
          title={`Run ${id}`}
          onClick={() =>
            void asking.ask(formatRunSubject(id), (onRefusal) =>
              runIndex(id, failed === null ? { if_stale: true } : getBacktestRequest(failed), onRefusal),
            )
          }
        >
          <Icon name="play" />
        </Button>
      )}
    </>
  );
}
