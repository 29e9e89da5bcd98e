import type { Task, TaskName } from '#jobs/tasks.js';
import { openedMarket } from './open-markets.js';

/**
 * Loads the code of tasks, and opens a market when there is one, so that whoever asks next does not wait for it.
 * @throws CancelledError between two of them, of which those that were loaded stay so
 */
export function warmUp(tasks: { readonly [N in TaskName]: () => Promise<unknown> }): Task<'warm-up'> {
  return async ({ names, market }, { report }) => {
    for (const name of names) {
      await tasks[name]();
      report(0);
    }
    if (market) openedMarket(market);
    return null;
  };
}
