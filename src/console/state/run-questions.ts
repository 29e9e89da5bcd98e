import type { IndexDocument, StoredStrategy } from '#clients/typescript/divisor.js';
import { getParameter } from './location.js';
import { prefetch } from './resource.js';
import { service, createTrouble } from './service.js';
import { formatRunKey, readShownRun } from './shown-run.js';

export type Definition =
  | { readonly index: IndexDocument; readonly strategy: null }
  | { readonly index: null; readonly strategy: StoredStrategy };

/** Returns the definition of an index, or of the strategy with this id. */
export async function readDefinition(id: string, signal: AbortSignal): Promise<Definition> {
  try {
    return { index: await service.value.call('getIndex', { params: { index_id: id }, signal }), strategy: null };
  } catch (thrown) {
    if (createTrouble(thrown).code !== 'INDEX_NOT_FOUND') throw thrown;
    const strategy = await service.value
      .call('getStrategy', { params: { strategy_id: id }, signal })
      .catch((missing: unknown) => {
        throw createTrouble(missing).code === 'STRATEGY_NOT_FOUND' ? thrown : missing;
      });
    return { index: null, strategy };
  }
}

export const formatDefinitionKey = (id: string): string => `definition ${id}`;

export const formatOverviewKey = (id: string): string => `overview ${formatRunKey(id)}`;

export const readOverview = (id: string, signal: AbortSignal) =>
  service.value.call('getOverview', { params: { index_id: id }, query: readShownRun(), signal });

/** Tabs of an index page that do not depend on a run. */
const WITHOUT_RUN = ['versions', 'methodology'];

/** Sends the first requests of an index page. Called while the scripts of the page are loading. */
export function prefetchIndexPage(id: string): void {
  prefetch(formatDefinitionKey(id), (signal) => readDefinition(id, signal));
  if (!WITHOUT_RUN.includes(getParameter('tab') ?? ''))
    prefetch(formatOverviewKey(id), (signal) => readOverview(id, signal));
}
