import type { ReplayView } from '#contract/replays.js';
import type { RunDifference } from '#domain/backtest/run-file/compare.js';

/** Provenance of a run: its hash, engine version and data hash. */
export interface RunInputs {
  readonly runHash: string;
  readonly engineVersion: string;
  readonly storeContentHash: string;
}

export interface ReplayOutcome {
  readonly runId: string;
  readonly stored: RunInputs & { readonly runAt: string | null };
  readonly replayed: RunInputs;
  readonly definitionChanged: boolean;
  readonly difference: RunDifference | null;
}

export function createReplayView({
  runId,
  stored,
  replayed,
  definitionChanged,
  difference,
}: ReplayOutcome): ReplayView {
  return {
    index_id: runId,
    equal: difference === null,
    first_difference: difference,
    inputs_equal: replayed.runHash === stored.runHash,
    stored_run_hash: stored.runHash,
    replayed_run_hash: replayed.runHash,
    stored_engine_version: stored.engineVersion,
    replayed_engine_version: replayed.engineVersion,
    stored_content_hash: stored.storeContentHash,
    replayed_content_hash: replayed.storeContentHash,
    definition_changed: definitionChanged,
    run_at: stored.runAt,
  };
}
