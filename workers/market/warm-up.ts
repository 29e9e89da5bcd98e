import type { Task, TaskName } from '#jobs/tasks.js';
import { openedMarket } from '../input/open-markets.js';

/**
 * Loads the code of tasks, and where there is a market opens it and makes the run of a plan and a risk model, which are thrown
 * away, so that whoever asks next does not wait for it.
 * @throws CancelledError between two of them, of which those that were loaded stay so, and within a run
 * @throws Refusal what a backtest or an estimate refuses
 */
export function warmUp(tasks: { readonly [N in TaskName]: () => Promise<unknown> }): Task<'warm-up'> {
  return async ({ names, market, plan }, control) => {
    for (const name of names) {
      await tasks[name]();
      control.report(0);
    }
    if (market) openedMarket(market);
    if (market && plan) {
      await (await import('../runs/backtest.js')).practiseRun(market, plan, control);
      await (await import('../risk/estimate-risk-model.js')).practiseModel(market, control);
    }
    return null;
  };
}
