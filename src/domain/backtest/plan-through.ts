import type { BacktestPlan } from '../documents/backtest-plan.js';
import { omitLaterAmendments } from '../documents/amended-texts.js';

/**
 * Returns a plan without the amendments that take effect after a date. A run that ends on that date uses this
 * definition.
 */
export function limitPlanToDate(plan: BacktestPlan, date: string): BacktestPlan {
  const documents = Object.entries(plan.documents).map(
    ([id, document]) => [id, omitLaterAmendments(document, date)] as const,
  );
  return { ...plan, documents: Object.fromEntries(documents) };
}
