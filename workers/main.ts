import { bundled } from '#bundle';

/** Entry point of the threads of the pool. */
export default ((await import(bundled('tasks') ?? './tasks.js')) as typeof import('./tasks.js')).runTask;
