import type { IndexDocument, StoredStrategy } from '#clients/typescript/divisor.js';
import { parameter } from './place.js';
import { prime } from './resource.js';
import { service, troubleOf } from './service.js';
import { runKey, readShownRun } from './shown-run.js';

export type Definition =
  | { readonly index: IndexDocument; readonly strategy: null }
  | { readonly index: null; readonly strategy: StoredStrategy };

/** Returns the definition of an index, or of the strategy with this id. */
export async function definitionOf(id: string, signal: AbortSignal): Promise<Definition> {
  try {
    return { index: await service.value.call('getIndex', { params: { index_id: id }, signal }), strategy: null };
  } catch (thrown) {
    if (troubleOf(thrown).code !== 'INDEX_NOT_FOUND') throw thrown;
    const strategy = await service.value
      .call('getStrategy', { params: { strategy_id: id }, signal })
      .catch((missing: unknown) => {
        throw troubleOf(missing).code === 'STRATEGY_NOT_FOUND' ? thrown : missing;
      });
    return { index: null, strategy };
  }
}

export const definitionKey = (id: string): string => `definition ${id}`;

export const overviewKey = (id: string): string => `overview ${runKey(id)}`;

export const overviewOf = (id: string, signal: AbortSignal) =>
  service.value.call('getOverview', { params: { index_id: id }, query: readShownRun(), signal });

/** Tabs of an index page that do not depend on a run. */
const WITHOUT_RUN = ['versions', 'methodology'];

/** Sends the first requests of an index page while its scripts are loading. */
export function primeIndexPage(id: string): void {
  prime(definitionKey(id), (signal) => definitionOf(id, signal));
  if (!WITHOUT_RUN.includes(parameter('tab') ?? '')) prime(overviewKey(id), (signal) => overviewOf(id, signal));
}
