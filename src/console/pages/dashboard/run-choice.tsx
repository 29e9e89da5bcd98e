import type { RunSummaryRow } from '#clients/typescript/divisor.js';
import { Popover } from '../../components/popover.js';
import { Toggles } from '../../components/toggles.js';
import { setPins, type Pin } from '../../state/dashboard.js';
import { findComparedRuns, replaceComparedRuns } from './compared-runs.js';

/** Numbers of compared runs. The tables of returns of at most five runs fit into half of the width. */
const RUNS_MIN = 2;
const RUNS_MAX = 5;

interface RunChoiceProps {
  /** All parts that are shown. */
  readonly all: readonly Pin[];
  /** Runs of the indices and strategies. */
  readonly runs: readonly RunSummaryRow[];
}

/** Renders the number of compared runs as a button that opens a choice of the runs. */
export function RunChoice({ all, runs }: RunChoiceProps) {
  const ids = runs.map(({ index_id: id }) => id);
  const chosenIds = findComparedRuns(all)?.filter((id) => ids.includes(id)) ?? [];
  if (chosenIds.length === 0 || ids.length <= RUNS_MIN) return null;
  const title = `${chosenIds.length} of ${ids.length} runs`;
  return (
    <Popover label={`Runs compared: ${title}`} title={title}>
      {() => (
        <Toggles
          label="Runs compared"
          values={ids}
          chosen={chosenIds}
          most={RUNS_MAX}
          onChoose={(next) => next.length >= RUNS_MIN && setPins(replaceComparedRuns(all, next, runs))}
        />
      )}
    </Popover>
  );
}
