import { formatAddress, getParameter } from './location.js';

/** Returns the query parameters of the run on this page: the run in the address, or nothing for the latest run. */
export function readShownRun(): { readonly run_id?: string } {
  const run = getParameter('run_id');
  return run === null ? {} : { run_id: run };
}

/** Returns the resource key of the displayed run of an index. */
export const formatRunKey = (id: string): string => `${id} ${getParameter('run_id') ?? ''}`;

/** Adds the displayed run to an address. */
export const formatShownRunPath = (path: string): string => formatAddress(path, { run_id: getParameter('run_id') });
