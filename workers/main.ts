import { findBundlePath } from '#bundle';

/** Entry point of the pool's threads. */
export default ((await import(findBundlePath('tasks') ?? './tasks.js')) as typeof import('./tasks.js')).runTask;
