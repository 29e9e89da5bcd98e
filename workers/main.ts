import { bundled } from '#bundle';

/** Entry point of the pool's threads. */
export default ((await import(bundled('tasks') ?? './tasks.js')) as typeof import('./tasks.js')).runTask;
