import { findBreachRule, createBreachWatch } from '../../compliance/breach-watch.js';
import type { LimitRuleName } from '../../compliance/rules.js';
import { listTexts } from '../../documents/amended-texts.js';
import type { ResumeRunInput, IndexContinuation } from './continuation.js';
import { CannotResumeError } from '../../documents/full-run-reasons.js';

/**
 * Checks that no breach occurs on the new sessions of an index with breach-triggered rebalances. After a breach, the
 * run cannot be extended, because the decision needs the whole market. Checks every version of the definition.
 * @throws CannotResumeError if a breach occurs, if a triggered rebalance is pending, or if the index was not simulated
 */
export function assertNoBreach(
  { plan: { documents }, checkpoint: { recent } }: ResumeRunInput,
  simulated: readonly IndexContinuation[],
): void {
  for (const [id, { isCalled }] of recent) {
    const index = simulated.find((indexContinuation) => indexContinuation.document.id === id);
    for (const { document } of listTexts(documents[id]!)) {
      const rule = findBreachRule(document.pipeline?.treatment);
      if (rule === null) continue;
      if (isCalled || index === undefined || isBreached(index, rule)) throw new CannotResumeError('breach');
    }
  }
}

/** Returns true if a breach begins on the new sessions. A breach that a rebalance itself causes does not count. */
function isBreached({ book, composed }: IndexContinuation, rule: LimitRuleName): boolean {
  const { sm, from, length, columns, weights } = book;
  const names = Array.from(columns, (column) => sm.identifiers[column]!);
  const watch = createBreachWatch({ rule, market: sm.market, names, open: new Set() });
  const rebalanceSessions = new Set(composed.map(({ session }) => session));
  for (let position = 0; position < length; position++) {
    const row = weights.subarray(position * columns.length, (position + 1) * columns.length);
    const begins = watch.begins(sm.sessions[from + position]!, row);
    if (position > 0 && begins && !rebalanceSessions.has(from + position)) return true;
  }
  return false;
}
