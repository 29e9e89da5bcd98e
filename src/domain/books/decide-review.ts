import { isEqual } from '../numbers/number-types.js';
import type { Review } from '../documents/reviews.js';
import { formatNumber } from '../catalogue/sentence-numbers.js';
import { countStaleSessions } from '../documents/stale-sessions.js';
import { hasLeftMarket } from '../market/left-securities.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import type { Finding } from '../refusals/findings.js';
import { formatDay } from '../time/days.js';
import { advancePortfolio, readShareCounts } from './transition.js';
import { restoreDecided, findCompositionInForce, isReview, type Composer, type Composition } from './compositions.js';
import type { DecidedComposition, Decision, OutgoingComposition } from './decider.js';
import type { DueRebalance } from './due-rebalances.js';
import { alignToColumns } from './take-effect.js';
import { selectPriceable } from './find-universe.js';
import { findIncumbents } from './successors.js';
import { sumMovedWeight } from './moved-weight.js';

export interface ReviewInput {
  readonly indexId: string;
  readonly review: Review;
  readonly rebalance: Pick<DueRebalance, 'decision' | 'session' | 'amendment'>;
  /**
   * Compositions before the review, ascending. A composition on the review's session comes from an earlier review of
   * that session.
   */
  readonly known: readonly Composition[];
}

/** Decides a review by its scope, on data up to its reference date. */
export function decideReview(composer: Composer, input: ReviewInput): Decision {
  const { indexId, review, rebalance, known } = input;
  const { decision, session } = rebalance;
  const seat = composer.seatOf(indexId, decision);
  const decider = seat.composer.decider(indexId, { ...rebalance, review: review.id });
  const incumbents = findIncumbents(composer, { indexId, known }, decision);
  const currentComposition = findCompositionInForce(known, session);
  if (review.scope === 'membership' || currentComposition === undefined) {
    const before = findReplaced(known, rebalance);
    return decider.decide(seat.session, incumbents, before === undefined ? null : createOutgoing(before, rebalance));
  }
  const currentConstituents = findCurrentConstituents(composer, input, currentComposition);
  const staleMax = countStaleSessions(composer.treatment(indexId));
  const members = selectPriceable(seat.composer.market(indexId), seat.session, currentConstituents.columns, staleMax);
  const newDecision = decider.decide(seat.session, incumbents, createOutgoing(currentComposition, rebalance), members);
  if (newDecision.kind !== 'decided') return newDecision;
  return review.scope === 'weights'
    ? keepNewSecurities(newDecision, currentConstituents, { sm: seat.composer.market(indexId), session: seat.session })
    : addFactors(newDecision, currentConstituents);
}

/**
 * Adds the constituents of a review of weights that had no price up to its reference date, because they were selected
 * later. Each keeps its weight; the review determines the weights of the others.
 */
function keepNewSecurities(
  decided: DecidedComposition,
  { columns, weights, uncapped }: CurrentConstituents,
  { sm, session }: { readonly sm: SessionMarket; readonly session: number },
): Decision {
  const row = readPanelRow(sm, session);
  const kept = Array.from(columns, (column, k) => ({ column, weight: weights[k]!, uncapped: uncapped[k]! })).filter(
    ({ column }) => column >= sm.securityCount || sm.lastBar[row + column]! < 0,
  );
  if (kept.length === 0) return decided;
  const finding = warnOfNewSecurities(sm, session, kept);
  if (decided.fixedShares !== undefined) return { kind: 'refused', code: finding.code, finding };
  const sum = kept.reduce((total, { weight }) => total + weight, 0);
  const sumUncapped = kept.reduce((total, one) => total + one.uncapped, 0);
  const entries = [
    ...kept,
    ...Array.from(decided.columns, (column, k) => ({
      column,
      weight: decided.weights[k]! * (1 - sum),
      uncapped: decided.uncapped[k]! * (1 - sumUncapped),
    })),
  ].toSorted((a, b) => a.column - b.column);
  const appliedWeights = Float64Array.from(entries, ({ weight }) => weight);
  const raw = Float64Array.from(entries, (entry) => entry.uncapped);
  const { worth: _worth, ...rest } = decided;
  return {
    ...rest,
    columns: Int32Array.from(entries, ({ column }) => column),
    weights: appliedWeights,
    uncapped: raw,
    cap: decided.cap === null ? null : decided.cap * (1 - sum),
    redistributed: sumMovedWeight(raw, appliedWeights),
    findings: [...decided.findings, finding],
  };
}

function warnOfNewSecurities(
  { identifiers, sessions }: SessionMarket,
  session: number,
  kept: readonly { readonly column: number; readonly weight: number }[],
): Finding {
  const texts = kept.map(
    ({ column, weight }) => `${identifiers[column] ?? 'a new security'} (${formatNumber(weight)})`,
  );
  const message = `Selected later, and without a price up to the reference date ${formatDay(sessions[session]!)} of the review of weights, which therefore keeps their weights: ${texts.join(', ')}.`;
  return { severity: 'warning', code: 'NO_WEIGHT_DATA', message, path: '', count: kept.length };
}

/**
 * Returns the composition before a review of constituents. Leaves out changes between reviews that were decided on or
 * after the reference date.
 */
const findReplaced = (
  known: readonly Composition[],
  { decision, session }: ReviewInput['rebalance'],
): Composition | undefined =>
  known.findLast((one) => one.session < session && (one.cause === undefined || one.decision < decision));

/**
 * Returns the composition that a rebalance replaces. If that composition takes effect after the decision, returns it as
 * it was decided.
 */
function createOutgoing(
  before: Composition,
  { decision, session }: Pick<DueRebalance, 'decision' | 'session'>,
): OutgoingComposition {
  return { ...before, ...(before.session > decision ? restoreDecided(before) : {}), effective: session };
}

/** Constituents on the reference date of a review, with their capped and uncapped weights. */
type CurrentConstituents = Pick<Composition, 'columns' | 'weights' | 'uncapped' | 'counts'>;

/**
 * Returns the constituents of an index on a reference date. Corporate actions since their effective close are applied.
 * If the composition takes effect later, returns the constituents as decided.
 */
function findCurrentConstituents(
  composer: Composer,
  { indexId, review, rebalance }: ReviewInput,
  current: Composition,
): CurrentConstituents {
  const { decision } = rebalance;
  const { columns, weights, uncapped, session, ...counts } = readTarget(current);
  if (session > decision) {
    const decidedComposition = current.targets ?? current.decided;
    if (decidedComposition?.uncapped === undefined)
      return review.scope === 'weights' ? { ...current, ...listDecidedWeights(current) } : current;
    const [sm, staleMax] = [composer.market(indexId), countStaleSessions(composer.treatment(indexId))];
    const isInMarket = (_: number, k: number): boolean =>
      !hasLeftMarket(sm, decision, decidedComposition.columns[k]!, staleMax);
    return {
      columns: decidedComposition.columns.filter(isInMarket),
      weights: decidedComposition.weights.filter(isInMarket),
      uncapped: decidedComposition.uncapped.filter(isInMarket),
    };
  }
  if (session === decision) return { columns, weights, uncapped };
  const index = {
    sm: composer.market(indexId),
    document: composer.document(indexId),
    treatment: composer.treatment(indexId),
    outside: composer.outsideMergers(indexId),
  };
  const leg = advancePortfolio(index, { columns, weights, value: 1, ...counts }, session, decision);
  const isCapped = review.scope === 'shares' && !isEqual(weights, uncapped);
  const raw = isCapped
    ? advancePortfolio(index, { columns, weights: uncapped, value: 1, ...counts }, session, decision)
    : leg;
  return {
    columns: leg.columns,
    weights: leg.weights,
    uncapped: raw === leg ? leg.weights : alignToColumns(raw, leg),
  };
}

function listDecidedWeights(current: Composition): CurrentConstituents {
  const { columns, weights, uncapped = weights } = restoreDecided(current);
  return { columns, weights, uncapped };
}

/**
 * Returns the target of a composition. If a rebalance over several closes is not complete, this review ends it and
 * starts from its target portfolio.
 */
function readTarget({
  columns,
  weights,
  uncapped,
  session,
  transition,
  counts,
}: Composition): CurrentConstituents & { session: number } {
  if (transition === undefined) return { columns, weights, uncapped, session, ...(counts ? { counts } : {}) };
  const { applied, uncapped: raw = applied } = transition;
  const { target } = applied;
  return {
    columns: target.columns,
    weights: target.weights,
    uncapped: raw === applied ? target.weights : alignToColumns(raw.target, target),
    session,
    ...readShareCounts(target),
  };
}

/**
 * Returns the weights that result from new share counts. Each market value is multiplied by the capping factor of the
 * constituent. A constituent without a market value keeps its weight relative to the others.
 */
function addFactors(
  decided: DecidedComposition,
  { columns, weights: cappedWeights, uncapped: raw }: CurrentConstituents,
): DecidedComposition {
  const valueByColumn = new Map(Array.from(decided.columns, (column, k) => [column, decided.uncapped[k]!]));
  const values = Float64Array.from(columns, (column) => valueByColumn.get(column) ?? Number.NaN);
  const isCapped = !isEqual(cappedWeights, raw);
  const factoredValues = isCapped ? values.map((value, k) => (value * cappedWeights[k]!) / raw[k]!) : values;
  const scale = sumOver(factoredValues, (k) => factoredValues[k]!) / sumOver(factoredValues, (k) => cappedWeights[k]!);
  const weights = normaliseWeights(
    factoredValues.map((value, k) => (value === value ? value : scale * cappedWeights[k]!)),
  );
  const uncappedWeights = normaliseWeights(values.map((value, k) => (value === value ? value : weights[k]!)));
  const redistributedWeight = sumMovedWeight(uncappedWeights, weights);
  return {
    ...decided,
    columns,
    weights,
    uncapped: uncappedWeights,
    cap: null,
    capped: new Int32Array(0),
    redistributed: redistributedWeight,
  };
}

/** Sums a function over the positions whose value is not NaN. */
function sumOver(values: Float64Array, compute: (position: number) => number): number {
  return values.reduce((sum, value, k) => (value === value ? sum + compute(k) : sum), 0);
}

function normaliseWeights(values: Float64Array): Float64Array {
  const sum = values.reduce((total, value) => total + value, 0);
  return values.map((value) => value / sum);
}

/**
 * Returns true if the latest review already includes share counts that are at least as recent as those of this review.
 */
export function hasCounts(
  compositions: readonly Composition[],
  { decision, session }: Pick<DueRebalance, 'decision' | 'session'>,
): boolean {
  const latestReview = findCompositionInForce(compositions.filter(isReview), session);
  return latestReview !== undefined && latestReview.decision >= decision;
}
