import { bundled } from '#bundle';

/** The one door of the pool. */
export default ((await import(bundled('tasks') ?? './tasks.js')) as typeof import('./tasks.js')).runTask;
