import { Refusal } from '#domain/refusals/refusal.js';
import type { InputOfView } from '#jobs/tasks/views.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import { createReconcileView, type StoredFile } from '#views/reconcile/reconcile-view.js';
import type { MeasuredRisk } from '#views/reconcile/risk-checks.js';
import { openCachedMarket } from '../input/open-markets.js';
import { runOnEngine } from '../input/numerics.js';
import { completeHashes } from '../run-files/hash-files.js';
import { useRunFile } from '../run-files/run-file.js';
import { computeBenchmarkWeights } from './benchmark-books.js';
import { listHoldingsByName, measureRisk, readHoldings } from './holding-risk.js';

type ReconcileInput = InputOfView<'reconcile'>;

/**
 * Checks the relations between the figures of a stored run by computing them again. Also checks the current files of
 * the run.
 */
export async function showReconciliation(input: ReconcileInput, { report }: TaskControl): Promise<object> {
  const risk = await measureLastRisk(input);
  const onDate = (): void => report(0);
  return useRunFile(input.columns, (run) => createReconcileView(run, () => listStoredFiles(input), { risk, onDate }));
}

function listStoredFiles({ files, cells }: ReconcileInput): StoredFile[] {
  const result = completeHashes({ paths: files.map(({ path }) => path), cells });
  return files.map(({ name, sha256 }, k) => ({ name, recorded: sha256, found: result[k]! }));
}

/** Measures the risk of the last holdings of a run. Returns null if the served market does not have the data. */
async function measureLastRisk({ columns, market: handle, benchmark }: ReconcileInput): Promise<MeasuredRisk | null> {
  if (!handle) return null;
  try {
    const runHoldings = useRunFile(columns, (run) => readHoldings(run, null));
    const market = openCachedMarket(handle);
    return await runOnEngine((engine) => {
      const weights =
        benchmark && computeBenchmarkWeights(engine, { ...benchmark, market, day: runHoldings.weights.day });
      return {
        names: [...listHoldingsByName(runHoldings.weights.names, runHoldings.weights.held).keys()],
        ...measureRisk(engine, {
          runHoldings,
          market,
          benchmark: benchmark && { id: benchmark.indexId, weights: weights! },
        }),
      };
    });
  } catch (thrown) {
    if (thrown instanceof Refusal) return null;
    throw thrown;
  }
}
