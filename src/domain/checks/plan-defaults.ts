import { BacktestFields } from '../documents/backtest-fields.js';
import type { BacktestPlan } from '../documents/backtest-plan.js';
import type { IndexDocument } from '../documents/index-document.js';
import { stateRowDefaults } from '../documents/row-settings.js';
import { readIndex } from './validate-index.js';

type Documents = Readonly<Record<string, IndexDocument>>;

/** Returns the documents of a stored plan or request with the defaults of the version that stored them. */
export function addDefaultsToDocuments(documents: Documents): Documents {
  return Object.fromEntries(Object.entries(documents).map(([id, document]) => [id, addDefaultsToDocument(document)]));
}

export const addDefaultsToDocument = (document: IndexDocument): IndexDocument => readIndex(document) ?? document;

/** Returns a plan in the current form: documents and request with defaults for fields that were added later. */
export function addDefaultsToPlan(plan: BacktestPlan): BacktestPlan {
  const { strategy } = plan;
  const constraints = strategy?.constraints && { constraints: stateRowDefaults(strategy.constraints, 'earlier') };
  return {
    ...plan,
    documents: addDefaultsToDocuments(plan.documents),
    ...(strategy ? { strategy: { ...strategy, ...constraints } } : {}),
    request: BacktestFields.safeParse(plan.request).data ?? plan.request,
  };
}
