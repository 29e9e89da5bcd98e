import { textsOf } from '../documents/amended-texts.js';
import { datedFindings, type Finding } from '../refusals/findings.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { asDecided, inForce, type Composer, type Composition } from './compositions.js';
import type { Outgoing } from './decider.js';
import { unkeptLimit } from './unkept-limit.js';
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
 * @throws Refusal NO_DATA_KNOWN; EMPTY_INDEX, or what the decider explains, when nothing was before a rebalance and nothing comes of
 *   it
 */
export function decideOne(composer: Composer, { indexId, rebalance, known }: DecideInput): DecidedOne {
  const sm = composer.market(indexId);
  const incumbents = inForce(known, rebalance.decision - 1)?.columns ?? null;
  const seat = composer.seatOf(indexId, rebalance.decision);
  const before = inForce(known, rebalance.session - 1);
  const outgoing = before === undefined ? null : outgoingAt(before, rebalance);
  const decision = seat.composer.decider(indexId, rebalance.amendment).decide(seat.session, incumbents, outgoing);
  if (decision.kind === 'decided') {
    assertHeld(seat.composer.market(indexId), decision.columns, sm);
    const { document } = textsOf(composer.document(indexId))[rebalance.amendment ?? 0]!;
    const index = { sm, document, treatment: composer.treatment(indexId) };
    const composition = takeEffect(index, rebalance, decision);
    if (composition) {
      const findings = datedFindings(decision.findings, rebalance.date);
      return { composition, findings: [...findings, ...unkeptLimit(composer, indexId, composition)] };
    }
  }
  if (known.length === 0) throw emptyIndex(indexId, sm, { rebalance, decision });
  return { findings: datedFindings([heldFinding(rebalance, decision)], rebalance.date) };
}

/** A composition before a rebalance: one that takes effect after the decision is known to it as it was decided. */
function outgoingAt(before: Composition, { decision, session }: DueRebalance): Outgoing {
  return { ...before, ...(before.session > decision ? asDecided(before) : {}), effective: session };
}

/** @throws Refusal NO_DATA_KNOWN where a name was chosen that the content of the run does not have */
function assertHeld(seen: SessionMarket, columns: Int32Array, { names }: SessionMarket): void {
  if (columns.length === 0 || columns.at(-1)! < names) return;
  const gone = columns.find((column) => column >= names)!; // They ascend.
  const identifier = seen.identifiers[gone]!;
  const message = `The name ${identifier} was chosen from what was known then; the data of the run does not have it.`;
  throw new Refusal('NO_DATA_KNOWN', message, { identifier });
}
