import type { ActionsView } from '#contract/analytics/actions.js';
import type { AffectedIndex, DeskActionEffect } from '#domain/corporate-actions/action-desk.js';
import { compareText } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { RunViewTerms } from '#domain/run-views/terms.js';
import type { DocumentStore } from '#store/port.js';
import { formatActionKey, type ActionEffects, type ExDates } from '../data/action-effects.js';
import { readRun } from '../stored/run-documents.js';
import type { RunViews } from './run-views.js';

/** Maximum number of runs that are read at the same time. Each needs a thread. */
const RUN_CONCURRENCY = 4;

/** Maximum number of runs that a list of actions reads. Reading a run takes up to 200 ms; it is then cached. */
const LISTED_RUNS_MAX = 50;

/**
 * Finds effects of corporate actions on stored runs. At most 50 runs are read for a list, newest first.
 * @param terms terms of the view of a run's actions
 */
export function createActionEffects(
  views: Pick<RunViews, 'show'>,
  terms: RunViewTerms,
  documents: Pick<DocumentStore, 'ids' | 'list'>,
): ActionEffects {
  async function readActions(
    indexId: string,
    { from, to }: ExDates,
    signal: AbortSignal,
  ): Promise<ActionsView['actions']> {
    const query = { index_id: indexId, from, to };
    const question = { terms, name: indexId, query, format: 'json', body: () => undefined } as const;
    try {
      const { bytes } = await views.show(question, signal);
      return (JSON.parse(new TextDecoder().decode(bytes)) as ActionsView).actions; // this engine wrote the view
    } catch (failure) {
      if (failure instanceof Refusal && !signal.aborted) return []; // the run was deleted, or its store is not served
      throw failure;
    }
  }

  /** Reads the actions of indices in a period, and converts those of each index. */
  async function collect<T>(
    ids: readonly string[],
    dates: ExDates,
    { signal, convert }: { readonly signal: AbortSignal; convert(id: string, actions: ActionsView['actions']): T[] },
  ): Promise<T[]> {
    const results: T[] = [];
    for (let k = 0; k < ids.length; k += RUN_CONCURRENCY) {
      const batchIds = ids.slice(k, k + RUN_CONCURRENCY);
      const batch = await Promise.all(batchIds.map(async (id) => convert(id, await readActions(id, dates, signal))));
      results.push(...batch.flat());
    }
    return results;
  }

  return {
    async read(identifier, exDate, signal) {
      const indices = new Set(await documents.ids('index'));
      const ids = (await documents.ids('run')).filter((id) => indices.has(id));
      return collect(
        ids,
        { from: exDate, to: exDate },
        {
          signal,
          convert: (id, actions) =>
            actions.filter((action) => action.identifier === identifier).map((action) => createEffect(id, action)),
        },
      );
    },
    async list(dates, signal) {
      const indices = new Set(await documents.ids('index'));
      const { documents: runs } = await documents.list('run', readRun);
      const ids = runs
        .filter(({ run_id: id }) => indices.has(id))
        .toSorted((a, b) => compareText(b.run_at ?? '', a.run_at ?? ''))
        .map(({ run_id: id }) => id);
      const holdings = await collect(ids.slice(0, LISTED_RUNS_MAX), dates, { signal, convert: listHoldings });
      const byAction = new Map<string, AffectedIndex[]>();
      for (const { key, index } of holdings.toSorted((a, b) => b.index.weight - a.index.weight))
        byAction.set(key, [...(byAction.get(key) ?? []), index]);
      return { byAction, unread: Math.max(0, ids.length - LISTED_RUNS_MAX) };
    },
  };
}

function createEffect(indexId: string, action: ActionsView['actions'][number]): DeskActionEffect {
  return {
    index_id: indexId,
    state: action.state,
    weight_before: action.weight_before,
    weight_after: action.weight_after,
    shares_before: action.shares_before,
    shares_after: action.shares_after,
    divisor_before: action.divisor_before,
    divisor_after: action.divisor_after,
    dividend_return: action.dividend_return,
    net_dividend_return: action.net_dividend_return,
  };
}

/** Returns the weight of an index in each security with actions. A security with several actions on a date is once. */
function listHoldings(indexId: string, actions: ActionsView['actions']) {
  const weights = new Map(
    actions.map(({ identifier, ex_date: exDate, weight_before: weight }) => [
      formatActionKey(identifier, exDate),
      weight,
    ]),
  );
  return [...weights].map(([key, weight]) => ({ key, index: { index_id: indexId, weight } }));
}
