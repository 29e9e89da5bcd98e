import { formatDay } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { weightMoved } from './weight-moved.js';
import type { Decided, Undecided } from './decider.js';
import { takeOver } from './proceeds.js';
import type { DueRebalance } from './due-rebalances.js';
import type { Composition } from './compositions.js';

/**
 * A decided composition on its effective session; of names that have ended since or leave at its close for want of a
 * price, those of their side take over the weight pro rata.
 * @param maxStaleSessions of the treatment
 */
export function takeEffect(
  { sm, maxStaleSessions }: { readonly sm: SessionMarket; readonly maxStaleSessions: number },
  timing: DueRebalance,
  decided: Decided,
): Composition | undefined {
  const { columns, weights, uncapped, cap, capped, redistributed, trackingError } = decided;
  const forecast = trackingError === undefined ? {} : { trackingError };
  const { session, decision } = timing;
  const isGone = (column: number): boolean =>
    sm.hasEnded(session, column) || sm.isSilent(session, column, maxStaleSessions);
  const hasLeavers = decision !== session && columns.some(isGone);
  const staying = hasLeavers ? columns.filter((column) => !isGone(column)) : columns;
  if (staying.length === 0) return undefined;
  if (staying.length === columns.length)
    return { ...timing, columns, weights, uncapped, cap, capped, redistributed, ...forecast };
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
