import { countStaleSessions } from '../documents/stale-sessions.js';
import { formatDay } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import { hasLeftMarket } from '../market/left-securities.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import type { RebalanceSpec } from '../schedule/rebalance-spec.js';
import { sumMovedWeight } from './moved-weight.js';
import type { DecidedComposition, FailedDecision } from './decider.js';
import { isEqual } from '../numbers/number-types.js';
import { computePendingShares, type PendingSharesInput, type PendingShares } from './pending-shares.js';
import { takeOverSecurity } from './proceeds.js';
import { readCounts, createShareChangeTerms } from './share-changes.js';
import type { DueRebalance } from './due-rebalances.js';
import type { Composition } from './compositions.js';

/**
 * Returns a decided composition at its effective close. Its weights were converted into index shares at the pricing
 * closes, or they apply directly at the effective close. Returns undefined if every constituent has left.
 */
export function applyDecision(
  index: AdoptingIndex,
  due: DueRebalance,
  decided: DecidedComposition,
): Composition | undefined {
  const { pricing: _, ...unpriced } = due;
  // Fixed numbers of shares need no conversion.
  const timing: DueRebalance = decided.basket === undefined ? due : unpriced;
  const composition = adoptDecision(index, timing, decided);
  const { ranking } = decided;
  const worth = timing.pricing === undefined ? decided.worth : undefined; // Money amount at the decision.
  if (composition === undefined || (ranking === undefined && worth === undefined)) return composition;
  return {
    ...(worth === undefined ? {} : { worth }),
    ...composition,
    ...(ranking === undefined ? {} : { ranking }),
  };
}

function adoptDecision(
  index: AdoptingIndex,
  timing: DueRebalance,
  decided: DecidedComposition,
): Composition | undefined {
  const { decision, pricing = decision, session } = timing;
  const holdsShares = decided.fixedShares !== undefined && index.treatment.reinvestment === 'index';
  const isPending = (index.weightsAs === 'shares' || holdsShares) && pricing < session;
  if (!isPending) {
    const remainingMembers = removeLeavers(index, decided, { decision, session });
    if (remainingMembers === undefined) return undefined;
    const shareChangeTerms = createShareChangeTerms(index);
    const counts = shareChangeTerms && readCounts(shareChangeTerms, session, remainingMembers.columns);
    const { columns, weights, uncapped } = decided;
    return {
      ...timing,
      ...listDecidedFields(remainingMembers),
      ...(remainingMembers === decided ? {} : { decided: { columns, weights, uncapped } }),
      ...(counts === undefined ? {} : { counts }),
    };
  }
  const pricedMembers = removeLeavers(index, decided, { decision, session: pricing });
  return pricedMembers && takeShares(index, { ...timing, pricing }, { decided, priced: pricedMembers });
}

/** Index that adopts a composition. */
export interface AdoptingIndex extends Pick<PendingSharesInput, 'sm' | 'document' | 'treatment' | 'outside'> {
  /** Setting `weights_as` of the review that decided the composition. */
  readonly weightsAs: RebalanceSpec['weights_as'];
}

interface PricedDecision {
  readonly decided: DecidedComposition;
  /** Decision without the constituents that left before the pricing date. */
  readonly priced: DecidedComposition;
}

/** Returns the composition of the index shares at the pricing closes, adjusted up to the effective close. */
function takeShares(
  index: AdoptingIndex,
  timing: DueRebalance & { readonly pricing: number },
  { decided, priced }: PricedDecision,
): Composition | undefined {
  const { columns, weights, uncapped, cap, capped, redistributed, trackingError, basket, fixedShares, worth } = priced;
  const { decision, pricing, session } = timing;
  const pendingInput = { ...index, pricing, session };
  const shareChangeTerms = createShareChangeTerms(index);
  const counts = shareChangeTerms && readCounts(shareChangeTerms, pricing, columns);
  const countsMember = counts === undefined ? {} : { counts };
  const pendingShares = computePendingShares(pendingInput, {
    columns,
    weights,
    ...(basket === undefined || fixedShares === undefined ? {} : { basket, fixedShares }),
    ...countsMember,
  });
  if (pendingShares.columns.length === 0) return undefined;
  const isUncapped = isEqual(weights, uncapped);
  const { pricing: _pricing, ...dates } = timing;
  return {
    ...dates,
    ...(pricing === decision ? {} : { pricing }),
    columns: pendingShares.columns,
    weights: pendingShares.weights,
    uncapped: isUncapped
      ? pendingShares.weights
      : alignToColumns(
          computePendingShares(pendingInput, { columns, weights: uncapped, ...countsMember }),
          pendingShares,
        ),
    targets: { columns: decided.columns, weights: decided.weights, uncapped: decided.uncapped },
    cap,
    capped: capped.filter((column) => pendingShares.columns.includes(column)),
    redistributed,
    ...(trackingError === undefined ? {} : { trackingError }),
    ...(basket === undefined ? {} : { basket: basket * pendingShares.growth }),
    ...(pendingShares.fixedShares === undefined ? {} : { fixedShares: pendingShares.fixedShares }),
    ...(worth === undefined || pricing !== decision ? {} : { worth: worth * pendingShares.growth }),
    ...(pendingShares.counts === undefined ? {} : { counts: pendingShares.counts }),
  };
}

export function alignToColumns(
  { columns, weights }: Pick<PendingShares, 'columns' | 'weights'>,
  { columns: pendingColumns }: Pick<PendingShares, 'columns'>,
): Float64Array {
  const weightByColumn = new Map(Array.from(columns, (column, k) => [column, weights[k]!]));
  return Float64Array.from(pendingColumns, (column) => weightByColumn.get(column) ?? 0);
}

/** Returns the fields that a composition takes from its decision. */
function listDecidedFields({
  columns,
  weights,
  uncapped,
  cap,
  capped,
  redistributed,
  trackingError,
  basket,
  fixedShares,
}: DecidedComposition) {
  return {
    columns,
    weights,
    uncapped,
    cap,
    capped,
    redistributed,
    ...(trackingError === undefined ? {} : { trackingError }),
    ...(basket === undefined ? {} : { basket }),
    ...(fixedShares === undefined ? {} : { fixedShares }),
  };
}

/**
 * Returns a decision as of a later session. Some constituents have ended since the decision, or leave on the session
 * because they have no price. The constituents on their side (long or short) take over their weight pro rata. Returns
 * undefined if all have left.
 */
function removeLeavers(
  { sm, treatment }: AdoptingIndex,
  decided: DecidedComposition,
  { decision, session }: Pick<DueRebalance, 'decision' | 'session'>,
): DecidedComposition | undefined {
  const { columns, weights, uncapped, cap, capped, basket, fixedShares, ...rest } = decided;
  const hasSecurityLeft = (column: number): boolean =>
    hasLeftMarket(sm, session, column, countStaleSessions(treatment));
  const hasLeavers = decision !== session && columns.some(hasSecurityLeft);
  const stayingColumns = hasLeavers ? columns.filter((column) => !hasSecurityLeft(column)) : columns;
  if (stayingColumns.length === 0) return undefined;
  if (stayingColumns.length === columns.length) return decided;
  const stays = new Set(stayingColumns);
  const isStaying = (_: number, k: number): boolean => stays.has(columns[k]!);
  const rescaleValues = (values: Float64Array): Float64Array =>
    takeOverSecurity(
      values.filter(isStaying),
      values.filter((value, k) => !isStaying(value, k)),
    );
  const appliedWeights = rescaleValues(weights);
  const raw = rescaleValues(uncapped);
  const appliedSum = weights.reduce((total, value, k) => (stays.has(columns[k]!) ? total + value : total), 0);
  return {
    ...rest,
    columns: stayingColumns,
    weights: appliedWeights,
    uncapped: raw,
    cap: cap === null ? null : Math.min(1, cap / appliedSum),
    capped: capped.filter((column) => stays.has(column)),
    redistributed: sumMovedWeight(raw, appliedWeights),
    ...(basket === undefined ? {} : { basket: basket * appliedSum }),
    ...(fixedShares === undefined ? {} : { fixedShares: fixedShares.filter(isStaying) }),
  };
}

interface FailedRebalance {
  readonly rebalance: DueRebalance;
  readonly decision: DecidedComposition | FailedDecision;
}

/**
 * Returns the refusal for an index that is empty at its start. If the decider has a detailed refusal, returns that one.
 * Its details count the securities that each rule left on the reference date.
 */
export function refuseEmptyIndex(
  indexId: string,
  sm: SessionMarket,
  { rebalance, decision }: FailedRebalance,
): Refusal {
  const firstSentence = `The index ${indexId} has no composition on its first date ${formatDay(sm.sessions[rebalance.session]!)}`;
  if (decision.kind === 'decided')
    return new Refusal('EMPTY_INDEX', `${firstSentence}: ${describeReason(decision)}`, { findings: [] });
  const counts = countSelection(decision, formatDay(sm.sessions[rebalance.decision]!));
  const explanation = decision.explain?.();
  if (explanation !== undefined)
    return new Refusal(explanation.code, `${firstSentence}: ${explanation.message}`, {
      ...explanation.detail,
      ...counts,
    });
  return new Refusal('EMPTY_INDEX', `${firstSentence}: ${describeReason(decision)}`, {
    findings: [decision.finding],
    ...counts,
  });
}

/** Returns the steps of a selection as details of a refusal, in the form of the steps of a preview. */
function countSelection({ waterfall }: FailedDecision, asOf: string): Readonly<Record<string, unknown>> {
  if (waterfall === undefined) return {};
  const steps = waterfall.map(({ position, remaining, ruleId, ruleType }) => ({
    position,
    remaining,
    rule_id: ruleId,
    rule_type: ruleType,
  }));
  return { as_of: asOf, steps };
}

export function reportHoldings(rebalance: DueRebalance, decision: DecidedComposition | FailedDecision): Finding {
  return {
    severity: 'warning',
    code: 'REBALANCE_HELD',
    message: `The rebalance of ${formatDay(rebalance.date)} was not executed, and the previous composition stays: ${describeReason(decision)}`,
    path: decision.kind === 'decided' ? '' : decision.finding.path,
  };
}

function describeReason(decision: DecidedComposition | FailedDecision): string {
  return decision.kind === 'decided' ? 'every constituent had left before it took effect.' : decision.finding.message;
}
