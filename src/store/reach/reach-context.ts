import { AsyncLocalStorage } from 'node:async_hooks';
import type { Reach } from '#domain/documents/reach.js';

/** The reach of a request while its handler runs. */
interface Context {
  readonly reach: Reach;
  /** False once the handler has answered: what goes on in the background belongs to nobody. */
  isOpen: boolean;
}

const contexts = new AsyncLocalStorage<Context | undefined>();

/** Runs the handler of a request whose client has a reach: documents outside are not there for it. */
export async function withinReach<T>(reach: Reach, handle: () => T | Promise<T>): Promise<T> {
  const context: Context = { reach, isOpen: true };
  try {
    return await contexts.run(context, handle);
  } finally {
    context.isOpen = false;
  }
}

/** The reach of the request that is being handled; undefined where everything may be read. */
export function currentReach(): Reach | undefined {
  const context = contexts.getStore();
  return context?.isOpen === true ? context.reach : undefined;
}

/** Runs work of the service itself, whoever caused it. */
export const beyondReach = <T>(work: () => T): T => contexts.run(undefined, work);
