import { addressOf, parameter } from './place.js';

/** Returns the query parameters of the displayed run: the latest unless the address names one. */
export function readShownRun(): { readonly run_id?: string } {
  const run = parameter('run_id');
  return run === null ? {} : { run_id: run };
}

/** Returns a resource key for an index and its displayed run. */
export const runKey = (id: string): string => `${id} ${parameter('run_id') ?? ''}`;

/** Returns an address for the same run. */
export const ofShownRun = (path: string): string => addressOf(path, { run_id: parameter('run_id') });
