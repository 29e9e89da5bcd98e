import { datedFindings, type Finding } from '../refusals/findings.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { asDecided, inForce, type Composer, type Composition } from './compositions.js';
import type { Outgoing } from './decider.js';
import { unkeptLimit } from './unkept-limit.js';
import type { DueRebalance } from './due-rebalances.js';
import { emptyIndex, heldFinding, takeEffect, type TakingIndex } from './take-effect.js';
import { beginPhase, continuePhase } from './transition.js';

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
export function decideOne(composer: Composer, input: DecideInput): DecidedOne {
  const { phase, date } = input.rebalance;
  return phase === undefined || phase.start === date ? decideNew(composer, input) : continued(composer, input);
}

/** A later close of a phase; nothing where its first one was not carried out or another rebalance has ended it. */
function continued(composer: Composer, { indexId, rebalance, known }: DecideInput): DecidedOne {
  const before = inForce(known, rebalance.session - 1);
  const { transition } = before ?? {};
  if (before === undefined || transition === undefined || before.phase?.start !== rebalance.phase!.start)
    return { findings: [] };
  return { composition: continuePhase(indexIn(composer, indexId), rebalance, { ...before, transition }), findings: [] };
}

function indexIn(composer: Composer, indexId: string): TakingIndex {
  return {
    sm: composer.market(indexId),
    document: composer.document(indexId),
    treatment: composer.treatment(indexId),
  };
}

function decideNew(composer: Composer, { indexId, rebalance, known }: DecideInput): DecidedOne {
  const sm = composer.market(indexId);
  const incumbents = inForce(known, rebalance.decision - 1)?.columns ?? null;
  const seat = composer.seatOf(indexId, rebalance.decision);
  const before = inForce(known, rebalance.session - 1);
  const outgoing = before === undefined ? null : outgoingAt(before, rebalance);
  const decision = seat.composer.decider(indexId).decide(seat.session, incumbents, outgoing);
  if (decision.kind === 'decided') {
    assertHeld(seat.composer.market(indexId), decision.columns, sm);
    const index = indexIn(composer, indexId);
    const whole = takeEffect(index, rebalance, decision);
    if (whole) {
      const isPhased = rebalance.phase !== undefined && before !== undefined;
      const composition = isPhased ? beginPhase(index, rebalance, { before, whole }) : whole;
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
