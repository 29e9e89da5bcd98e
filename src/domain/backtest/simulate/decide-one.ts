import type { Finding } from '../../findings.js';
import { inForce, type Composer, type Composition } from './compositions.js';
import type { DueRebalance } from './due-rebalances.js';
import { emptyIndex, heldFinding, takeEffect } from './take-effect.js';

interface DecideInput {
  readonly indexId: string;
  readonly rebalance: DueRebalance;
  /** Compositions before it, ascending. */
  readonly known: readonly Composition[];
}

interface DecidedOne {
  /** Absent where the previous composition stays. */
  readonly composition?: Composition;
  readonly findings: readonly Finding[];
}

/**
 * Decides one rebalance.
 * @throws Refusal EMPTY_INDEX, or what the decider explains, when nothing was before a rebalance and nothing comes of
 *   it
 */
export function decideOne(composer: Composer, { indexId, rebalance, known }: DecideInput): DecidedOne {
  const sm = composer.market(indexId);
  const incumbents = inForce(known, rebalance.decision - 1)?.columns ?? null;
  const decision = composer.decider(indexId).decide(rebalance.decision, incumbents);
  if (decision.kind === 'decided') {
    const composition = takeEffect(sm, rebalance, decision);
    if (composition) return { composition, findings: decision.findings };
  }
  if (known.length === 0) throw emptyIndex(indexId, sm, { rebalance, decision });
  return { findings: [heldFinding(rebalance, decision)] };
}
