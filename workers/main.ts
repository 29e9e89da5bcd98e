import type { Task, TaskName } from '#jobs/tasks.js';
import { createDoor } from './door.js';

/** A task without a worker does not compile. */
const tasks: { readonly [N in TaskName]: () => Promise<Task<N>> } = {
  backtest: async () => (await import('./backtest.js')).backtest,
};

/** The one door of the pool. */
export default createDoor(tasks);
