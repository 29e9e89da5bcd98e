import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import type { Day } from '../time/days.js';
import type { Composer, Composition, Compositions } from './compositions.js';
import type { SwapRule } from './constituent-swap.js';
import { composeAsKnown } from './known-compositions.js';
import { hasMemberChanges } from './member-changes.js';
import { findPendingChange, type PendingComposition } from './pending-changes.js';

/** Swap with identifiers and days. */
export interface NamedSwap {
  /** Effective date; the swap takes effect at its close. */
  readonly date: Day;
  readonly rule: SwapRule;
  readonly entered: string;
  readonly left: string;
  readonly decision: Day;
  readonly ranked: Day | null;
  readonly rank: number;
  readonly leftRank: number | null;
}

/** Returns the swaps of a composition. */
export function resolveSwaps(
  { session, swaps = [] }: Pick<Composition, 'session' | 'swaps'>,
  { identifiers, sessions }: Pick<SessionMarket, 'identifiers' | 'sessions'>,
): NamedSwap[] {
  return swaps.map(({ entered, left, decision, ranked, ...swap }) => ({
    ...swap,
    date: sessions[session]!,
    entered: identifiers[entered]!,
    left: identifiers[left]!,
    decision: sessions[decision]!,
    ranked: ranked === null ? null : sessions[ranked]!,
  }));
}

/** Returns the swaps of a composition that takes effect on a later day. */
export function listPendingSwaps({ effective, composition }: PendingComposition, sm: SessionMarket): NamedSwap[] {
  return resolveSwaps(composition, sm).map((swap) => ({ ...swap, date: effective }));
}

/**
 * Returns the swaps between reviews that were decided on a session, including announced swaps that take effect later.
 */
export function listSwapsDecidedOn(composer: Composer, indexId: string, session: number): NamedSwap[] {
  if (!hasMemberChanges(composer, indexId)) return [];
  const compositions = findCompositions(composer, indexId);
  if (compositions === undefined) return [];
  const { sm, list } = compositions;
  const pendingComposition = findPendingChange(composer, { indexId, session, list });
  const announcedSwaps =
    pendingComposition === undefined || list.includes(pendingComposition.composition)
      ? []
      : listPendingSwaps(pendingComposition, sm);
  const day = sm.sessions[session]!;
  const namedSwaps = [...list.flatMap((composition) => resolveSwaps(composition, sm)), ...announcedSwaps];
  return namedSwaps.filter(({ decision }) => decision === day);
}

/** Returns the compositions of an index. Returns undefined if it has none yet. */
function findCompositions(composer: Composer, indexId: string): Compositions | undefined {
  try {
    return composeAsKnown(composer, indexId);
  } catch (failure) {
    if (failure instanceof Refusal && failure.code === 'EMPTY_INDEX') return undefined;
    throw failure;
  }
}
