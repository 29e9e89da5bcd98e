import type { Task, TaskName } from '#jobs/tasks.js';
import { openCachedMarket } from './input/open-markets.js';

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
      await (await import('./optimisation/practice.js')).practiseOptimisation(market, plan, control);
    }
    return null;
  };
}
