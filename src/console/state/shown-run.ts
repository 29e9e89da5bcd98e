import { addressOf, parameter } from './place.js';

/** Which run the views of an index are of, for their queries: the newest unless the address names one. */
export function shownRun(): { readonly run_id?: string } {
  const run = parameter('run_id');
  return run === null ? {} : { run_id: run };
}

/** An index and the run of it that is looked at, for the keys of resources. */
export const runKey = (id: string): string => `${id} ${parameter('run_id') ?? ''}`;

/** An address about the same run. */
export const ofShownRun = (path: string): string => addressOf(path, { run_id: parameter('run_id') });
