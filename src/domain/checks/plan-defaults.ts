import { BacktestFields } from '../documents/backtest-fields.js';
import type { BacktestPlan } from '../documents/backtest-plan.js';
import type { IndexDocument } from '../documents/index-document.js';
import { statedRows } from '../documents/row-settings.js';
import { readIndex } from './validate-index.js';

type Documents = Readonly<Record<string, IndexDocument>>;

/** Documents of a plan or a request that an earlier version stored, with the settings which that version had. */
export function documentsWithDefaults(documents: Documents): Documents {
  return Object.fromEntries(Object.entries(documents).map(([id, document]) => [id, documentWithDefaults(document)]));
}

export const documentWithDefaults = (document: IndexDocument): IndexDocument => readIndex(document) ?? document;

/** A plan as it would be stored today: documents and request with the defaults of fields that came after it. */
export function planWithDefaults(plan: BacktestPlan): BacktestPlan {
  const { strategy } = plan;
  const constraints = strategy?.constraints && { constraints: statedRows(strategy.constraints, 'earlier') };
  return {
    ...plan,
    documents: documentsWithDefaults(plan.documents),
    ...(strategy ? { strategy: { ...strategy, ...constraints } } : {}),
    request: BacktestFields.safeParse(plan.request).data ?? plan.request,
  };
}
