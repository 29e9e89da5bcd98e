import type { Task, TaskName } from '#jobs/tasks/catalogue.js';
import { collectGarbage } from '#kernels/memory/collect-garbage.js';
import { openCachedMarket } from './input/markets.js';
import { clearLastModel } from './input/risk-models.js';

/** Heap size in bytes from which on a garbage collection is worthwhile. Live objects of a warm thread take 25 MB. */
const HEAP_BYTES_MIN = 48 * 2 ** 20;

/** Frees memory of an idle thread. Returns its garbage and its cached memory to the system. */
export const releaseMemory: Task<'rest'> = async () => {
  clearLastModel();
  await collectGarbage(HEAP_BYTES_MIN);
  return null;
};

/**
 * Loads the code of tasks. If there is a market, opens it, and computes and discards a run, a risk model and an
 * optimisation. Later requests then do not wait for this work.
 * @throws CancelledError between two of these steps, and within a run; loaded code stays loaded
 * @throws Refusal of a backtest or an estimate
 */
export function warmUp(tasks: { readonly [N in TaskName]: () => Promise<unknown> }): Task<'warm-up'> {
  return async ({ names, market, plan, storedPrices = [], checkedFiles, destination }, control) => {
    for (const name of names) {
      await tasks[name]();
      control.report(0);
    }
    if (market) openCachedMarket(market);
    if (market && plan) {
      await (
        await import('./runs/backtest.js')
      ).warmUpRun(
        { market, plan, storedPrices, checkedFiles, ...(destination && { outputs: { destination } }) },
        control,
      );
      await (await import('./risk/estimate-risk-model.js')).practiseRiskModel(market, control);
      await (await import('./optimisation/optimise.js')).practiseOptimisation(market, plan, control);
    }
    return null;
  };
}
