import { staleSessions } from '../documents/stale-sessions.js';
import { formatDay } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import { hasLeft } from '../market/has-left.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { weightMoved } from './weight-moved.js';
import type { Decided, Undecided } from './decider.js';
import { isEqual } from '../numbers/number-types.js';
import { pendingShares, type PendingInput, type PendingShares } from './pending-shares.js';
import { takeOver } from './proceeds.js';
import { countsOn, shareChangeTerms } from './share-changes.js';
import type { DueRebalance } from './due-rebalances.js';
import type { Composition } from './compositions.js';

/**
 * A decided composition on its effective session: its weights became index shares when it was decided, or hold at the
 * effective close.
 */
export function takeEffect(index: TakingIndex, timing: DueRebalance, decided: Decided): Composition | undefined {
  const taken = takeComposition(index, timing, decided);
  const { ranking, worth } = decided;
  if (taken === undefined || (ranking === undefined && worth === undefined)) return taken;
  return {
    ...(worth === undefined ? {} : { worth }),
    ...taken,
    ...(ranking === undefined ? {} : { ranking }),
  };
}

function takeComposition(index: TakingIndex, timing: DueRebalance, decided: Decided): Composition | undefined {
  const isPending = index.document.rebalance.weights_as === 'shares' && timing.decision < timing.session;
  if (isPending) return takeShares(index, timing, decided);
  const taken = takeWeights(index, timing, decided);
  const following = shareChangeTerms(index);
  if (taken === undefined || following === undefined) return taken;
  return { ...taken, counts: countsOn(following, timing.session, taken.columns) };
}

/** An index that takes a composition. */
export type TakingIndex = Pick<PendingInput, 'sm' | 'document' | 'treatment' | 'outside'>;

/** Index shares of the pricing session at what they have become by the effective close. */
function takeShares(index: TakingIndex, timing: DueRebalance, decided: Decided): Composition | undefined {
  const { columns, weights, uncapped, cap, capped, redistributed, trackingError, basket, worth } = decided;
  const pending = { ...index, pricing: timing.decision, session: timing.session };
  const following = shareChangeTerms(index);
  const counts = following && countsOn(following, timing.decision, columns);
  const taken = pendingShares(pending, { columns, weights, ...(counts === undefined ? {} : { counts }) });
  if (taken.columns.length === 0) return undefined;
  const isUncapped = isEqual(weights, uncapped);
  return {
    ...timing,
    columns: taken.columns,
    weights: taken.weights,
    uncapped: isUncapped
      ? taken.weights
      : sameColumns(pendingShares(pending, { columns, weights: uncapped, ...(counts ? { counts } : {}) }), taken),
    targets: { columns, weights },
    cap,
    capped: capped.filter((column) => taken.columns.includes(column)),
    redistributed,
    ...(trackingError === undefined ? {} : { trackingError }),
    ...(basket === undefined ? {} : { basket: basket * taken.growth }),
    ...(worth === undefined ? {} : { worth: worth * taken.growth }),
    ...(taken.counts === undefined ? {} : { counts: taken.counts }),
  };
}

function sameColumns({ columns, weights }: PendingShares, { columns: wanted }: PendingShares): Float64Array {
  const weightOf = new Map(Array.from(columns, (column, k) => [column, weights[k]!]));
  return Float64Array.from(wanted, (column) => weightOf.get(column) ?? 0);
}

/**
 * Weights that hold at the effective close; of names that have ended since or leave at it for want of a price, those of
 * their side take over the weight pro rata.
 */
function takeWeights({ sm, treatment }: TakingIndex, timing: DueRebalance, decided: Decided): Composition | undefined {
  const { columns, weights, uncapped, cap, capped, redistributed, trackingError, basket } = decided;
  const forecast = trackingError === undefined ? {} : { trackingError };
  const { session, decision } = timing;
  const isGone = (column: number): boolean => hasLeft(sm, session, column, staleSessions(treatment));
  const hasLeavers = decision !== session && columns.some(isGone);
  const staying = hasLeavers ? columns.filter((column) => !isGone(column)) : columns;
  if (staying.length === 0) return undefined;
  if (staying.length === columns.length)
    return {
      ...timing,
      columns,
      weights,
      uncapped,
      cap,
      capped,
      redistributed,
      ...forecast,
      ...(basket === undefined ? {} : { basket }),
    };
  const stays = new Set(staying);
  const isStaying = (_: number, k: number): boolean => stays.has(columns[k]!);
  const rescaled = (values: Float64Array): Float64Array =>
    takeOver(
      values.filter(isStaying),
      values.filter((value, k) => !isStaying(value, k)),
    );
  const applied = rescaled(weights);
  const raw = rescaled(uncapped);
  const appliedSum = weights.reduce((total, value, k) => (stays.has(columns[k]!) ? total + value : total), 0);
  return {
    ...timing,
    columns: staying,
    weights: applied,
    uncapped: raw,
    cap: cap === null ? null : Math.min(1, cap / appliedSum),
    capped: capped.filter((column) => stays.has(column)),
    redistributed: weightMoved(raw, applied),
    ...forecast,
  };
}

interface Undone {
  readonly rebalance: DueRebalance;
  readonly decision: Decided | Undecided;
}

/** Why an index has nothing to begin with: its own refusal where the decider has one. */
export function emptyIndex(indexId: string, sm: SessionMarket, { rebalance, decision }: Undone): Refusal {
  const first = `The index ${indexId} has no composition on its first date ${formatDay(sm.sessions[rebalance.session]!)}`;
  const explained = decision.kind === 'decided' ? undefined : decision.explain?.();
  if (explained !== undefined) return new Refusal(explained.code, `${first}: ${explained.message}`, explained.detail);
  return new Refusal('EMPTY_INDEX', `${first}: ${reasonOf(decision)}`, {
    findings: decision.kind === 'decided' ? [] : [decision.finding],
  });
}

export function heldFinding(rebalance: DueRebalance, decision: Decided | Undecided): Finding {
  return {
    severity: 'warning',
    code: 'REBALANCE_HELD',
    message: `The rebalance of ${formatDay(rebalance.date)} was not executed, the previous composition stays: ${reasonOf(decision)}`,
    path: decision.kind === 'decided' ? '' : decision.finding.path,
  };
}

function reasonOf(decision: Decided | Undecided): string {
  return decision.kind === 'decided' ? 'every name had left before it took effect.' : decision.finding.message;
}
