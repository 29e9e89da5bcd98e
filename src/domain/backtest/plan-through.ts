import type { BacktestPlan } from '../documents/backtest-plan.js';
import { textThrough } from '../documents/amended-texts.js';

/** A plan without the amendments that take effect after a date: what decides the sessions of a run that ends on it. */
export function planThrough(plan: BacktestPlan, date: string): BacktestPlan {
  const documents = Object.entries(plan.documents).map(([id, document]) => [id, textThrough(document, date)] as const);
  return { ...plan, documents: Object.fromEntries(documents) };
}
