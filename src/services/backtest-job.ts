import { createHash } from 'node:crypto';
import type { BacktestPlan } from '#domain/backtest/plan.js';
import { canonicalJson } from '#domain/canonical-json.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { Refusal } from '#domain/refusal.js';
import type { Attempt, JobKind } from '#jobs/job-kind.js';
import type { KeptRun } from '#jobs/tasks.js';
import type { Markets } from '#market/markets.js';
import type { ArtifactRef, ArtifactStore } from '#store/artifacts.js';
import type { DocumentStore } from '#store/documents.js';
import { readRun } from './run-documents.js';
import { assertNotDeleted } from './jobs-about.js';

/** Everything a backtest depends on besides the market, which is the one served when an attempt starts. */
export interface BacktestPayload {
  readonly plan: BacktestPlan;
  readonly engine_version: string;
}

export interface BacktestJobDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly markets: Markets;
}

/** A plan as it is kept beside its run. */
function jsonBytes(plan: BacktestPlan): { readonly bytes: Uint8Array; readonly sha256: string } {
  const bytes = new TextEncoder().encode(canonicalJson(plan));
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** A stored run that can be gone on with, and the name that the file it begins in will have for the run that does. */
interface Continuable {
  readonly base: ArtifactRef;
  readonly kept: KeptRun;
}

/** Keeps the file that a run begins in for a run that goes on with it; undefined when it has gone. */
async function shared(attempt: Attempt, { base, kept }: Continuable): Promise<ArtifactRef | undefined> {
  try {
    return await attempt.share(base, kept.baseName);
  } catch (refusal) {
    if (refusal instanceof Refusal && refusal.code === 'DOCUMENT_UNREADABLE') return undefined;
    throw refusal;
  }
}

/** The kind of job that runs backtests: results become the stored run in the transaction that ends the job. */
export function createBacktestJob({ documents, artifacts, markets }: BacktestJobDependencies): JobKind<BacktestPayload> {
  /** The stored run to go on with; a reason when it left nothing to go on from, null when there is none. */
  function storedRun(runId: string): Continuable | 'no_checkpoint' | null {
    const found = documents.get('run', runId);
    if (found === undefined) return null;
    const run = 'unreadable' in found ? undefined : readRun(found.body);
    if (run?.artifacts.checkpoint === undefined) return 'no_checkpoint';
    const { columns, base = columns, checkpoint, result } = run.artifacts;
    const kept = { columns: artifacts.path(columns), checkpoint: { path: artifacts.path(checkpoint), sha256: checkpoint.sha256 }, result: artifacts.path(result) };
    return { base, kept: { ...kept, baseName: artifacts.newName() } };
  }

  return {
    kind: 'backtest',
    lane: 'heavy',
    async run({ plan, engine_version: engineVersion }, attempt) {
      await markets.settled(); // A run of the last process waits for the data that is on its way.
      const { handle } = markets.require();
      const task = { market: handle, plan, engineVersion };
      const stored = storedRun(plan.runId);
      const isContinuable = stored !== null && typeof stored !== 'string';
      const went = await attempt.compute('backtest', { ...task, kept: isContinuable ? stored.kept : stored });
      const base = isContinuable && went.extendedFrom !== null ? await shared(attempt, stored) : null;
      // Who deleted the stored run meanwhile took away what a run that goes on with it begins in.
      const output = base === undefined ? await attempt.compute('backtest', { ...task, kept: 'no_checkpoint' }, 0) : went;
      const [result, overview, columns] = await Promise.all([output.result, output.overview, output.columns].map((bytes) => attempt.keep(bytes)));
      // Three outputs were kept.
      const files = {
        result: result!, overview: overview!, columns: columns!,
        plan: await attempt.keep(jsonBytes(plan)),
        ...(base ? { base } : {}),
        ...(output.checkpoint ? { checkpoint: await attempt.keep(output.checkpoint) } : {}),
      };
      const document: RunDocument = {
        run_id: plan.runId,
        index_id: plan.indexId,
        name: plan.name,
        run_at: output.runAt,
        start: output.start,
        end: output.end,
        run_hash: output.runHash,
        store_content_hash: output.storeContentHash,
        engine_version: engineVersion,
        extended_from: output.extendedFrom,
        full_run_reason: output.fullRunReason,
        request: plan.request,
        artifacts: files,
      };
      return {
        result: { artifact: files.result },
        effect(tx) {
          assertNotDeleted(tx, plan.runId, 'backtest');
          tx.put('run', plan.runId, document);
        },
      };
    },
  };
}
