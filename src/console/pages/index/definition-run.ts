import type { StaleState } from '#clients/typescript/divisor.js';
import { getParameter } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { readNewestRun } from './run-terms.js';

/**
 * Returns the query for the run whose definition explains the decisions. If the stored definition is the same, returns
 * an empty query.
 * @param stale state of the displayed run
 * @returns null while the run is unknown
 */
export function useDefinitionRun(id: string, stale: StaleState | null): { readonly run_id?: string } | null {
  const namedRun = getParameter('run_id');
  const isOld = namedRun === null && stale?.definition === true;
  const newest = useResource(isOld ? `newest run ${id} of its definition` : null, (signal) =>
    readNewestRun(id, signal),
  );
  if (namedRun !== null) return { run_id: namedRun };
  if (!isOld) return {};
  return newest.data == null ? null : { run_id: newest.data.run_id };
}
