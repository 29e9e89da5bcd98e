import { AsyncLocalStorage } from 'node:async_hooks';
import type { Reach } from '#domain/documents/reach.js';

/** Access limits of a request while its handler runs. */
interface Context {
  readonly reach: Reach;
  /** False after the handler has answered. Later background work has no client. */
  isOpen: boolean;
}

const contexts = new AsyncLocalStorage<Context | undefined>();

/** Runs the handler of a request with limited access. Documents that its client may not access are absent for it. */
export async function runWithinReach<T>(reach: Reach, handle: () => T | Promise<T>): Promise<T> {
  const context: Context = { reach, isOpen: true };
  try {
    return await contexts.run(context, handle);
  } finally {
    context.isOpen = false;
  }
}

/** Returns the access limits of the current request. Returns undefined if it has none. */
export function findCurrentReach(): Reach | undefined {
  const context = contexts.getStore();
  return context?.isOpen === true ? context.reach : undefined;
}

/** Runs work of the service without the access limits of the request. */
export const runUnrestricted = <T>(work: () => T): T => contexts.run(undefined, work);
