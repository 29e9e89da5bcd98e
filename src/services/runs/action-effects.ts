import type { ActionsView } from '#contract/analytics/actions.js';
import type { DeskActionEffect } from '#domain/corporate-actions/action-desk.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { RunViewTerms } from '#domain/run-views/terms.js';
import type { DocumentReader } from '#store/port.js';
import type { RunViews } from './run-views.js';

/** Maximum number of runs that are read at the same time. Each needs a thread. */
const RUN_CONCURRENCY = 4;

/**
 * Returns a function that finds how the actions of a security on one ex-date affect stored runs. It covers every stored
 * run that holds the security.
 * @param terms terms of the view of a run's actions
 */
export function createActionEffects(
  views: Pick<RunViews, 'show'>,
  terms: RunViewTerms,
  documents: Pick<DocumentReader, 'ids'>,
) {
  async function readEffects(indexId: string, identifier: string, exDate: string, signal: AbortSignal) {
    const query = { index_id: indexId, from: exDate, to: exDate };
    const question = { terms, name: indexId, query, format: 'json', body: () => undefined } as const;
    try {
      const { bytes } = await views.show(question, signal);
      const { actions } = JSON.parse(new TextDecoder().decode(bytes)) as ActionsView; // this engine wrote the view
      return actions
        .filter((action) => action.identifier === identifier)
        .map((action): DeskActionEffect => ({
          index_id: indexId,
          state: action.state,
          weight_before: action.weight_before,
          weight_after: action.weight_after,
          shares_before: action.shares_before,
          shares_after: action.shares_after,
          divisor_before: action.divisor_before,
          divisor_after: action.divisor_after,
        }));
    } catch (failure) {
      if (failure instanceof Refusal && !signal.aborted) return []; // the run was deleted, or its store is not served
      throw failure;
    }
  }

  return async (identifier: string, exDate: string, signal: AbortSignal): Promise<readonly DeskActionEffect[]> => {
    const indices = new Set(await documents.ids('index'));
    const ids = (await documents.ids('run')).filter((id) => indices.has(id));
    const effects: DeskActionEffect[] = [];
    for (let k = 0; k < ids.length; k += RUN_CONCURRENCY) {
      const batchIds = ids.slice(k, k + RUN_CONCURRENCY);
      const result = await Promise.all(batchIds.map((id) => readEffects(id, identifier, exDate, signal)));
      effects.push(...result.flat());
    }
    return effects;
  };
}
