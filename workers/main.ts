import { bundlePath } from '#bundle';

/** Entry point of the pool's threads. */
export default ((await import(bundlePath('tasks') ?? './tasks.js')) as typeof import('./tasks.js')).runTask;
