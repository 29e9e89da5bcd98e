import { createHash } from 'node:crypto';
import type { BacktestPlan } from '#domain/backtest/plan.js';
import { canonicalJson } from '#domain/canonical-json.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { JobKind } from '#jobs/job-kind.js';
import type { Markets } from '#market/markets.js';
import { assertNotDeleted } from './jobs-about.js';

/** Everything a backtest depends on besides the market, which is the one served when an attempt starts. */
export interface BacktestPayload {
  readonly plan: BacktestPlan;
  readonly engine_version: string;
}

export interface BacktestJobDependencies {
  readonly markets: Markets;
}

/** A plan as it is kept beside its run. */
function jsonBytes(plan: BacktestPlan): { readonly bytes: Uint8Array; readonly sha256: string } {
  const bytes = new TextEncoder().encode(canonicalJson(plan));
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** The kind of job that runs backtests: results become the stored run in the transaction that ends the job. */
export function createBacktestJob({ markets }: BacktestJobDependencies): JobKind<BacktestPayload> {
  return {
    kind: 'backtest',
    lane: 'heavy',
    async run({ plan, engine_version: engineVersion }, attempt) {
      await markets.settled(); // A run of the last process waits for the data that is on its way.
      const { handle } = markets.require();
      const output = await attempt.compute('backtest', { market: handle, plan, engineVersion });
      const [result, overview, columns] = await Promise.all([output.result, output.overview, output.columns].map((bytes) => attempt.keep(bytes)));
      // Three outputs were kept.
      const artifacts = { result: result!, overview: overview!, columns: columns!, plan: await attempt.keep(jsonBytes(plan)) };
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
        request: plan.request,
        artifacts,
      };
      return {
        result: { artifact: artifacts.result },
        effect(tx) {
          assertNotDeleted(tx, plan.runId, 'backtest');
          tx.put('run', plan.runId, document);
        },
      };
    },
  };
}
