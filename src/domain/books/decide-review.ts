import { isEqual } from '../numbers/number-types.js';
import type { Review } from '../documents/reviews.js';
import { staleSessions } from '../documents/stale-sessions.js';
import { advanced } from './transition.js';
import { asDecided, inForce, type Composer, type Composition } from './compositions.js';
import type { Decided, Decision, Outgoing } from './decider.js';
import type { DueRebalance } from './due-rebalances.js';
import { sameColumns } from './take-effect.js';
import { priceableOn } from './universe-on.js';
import { weightMoved } from './weight-moved.js';

export interface ReviewInput {
  readonly indexId: string;
  readonly review: Review;
  readonly rebalance: Pick<DueRebalance, 'decision' | 'session' | 'amendment'>;
  /** Compositions before it, ascending; one of the same session is that of a review that ran before. */
  readonly known: readonly Composition[];
}

/** Decides a review by its scope, on data up to its reference date. */
export function decideReview(composer: Composer, input: ReviewInput): Decision {
  const { indexId, review, rebalance, known } = input;
  const { decision, session } = rebalance;
  const seat = composer.seatOf(indexId, decision);
  const decider = seat.composer.decider(indexId, { ...rebalance, review: review.id });
  const incumbents = inForce(known, decision - 1)?.columns ?? null;
  const current = inForce(known, session);
  if (review.scope === 'membership' || current === undefined) {
    const before = inForce(known, session - 1);
    return decider.decide(seat.session, incumbents, before === undefined ? null : outgoingAt(before, rebalance));
  }
  const held = currentOn(composer, input, current);
  const staleMax = staleSessions(composer.treatment(indexId));
  const members = priceableOn(seat.composer.market(indexId), seat.session, held.columns, staleMax);
  const decided = decider.decide(seat.session, incumbents, outgoingAt(current, rebalance), members);
  return review.scope === 'weights' || decided.kind !== 'decided' ? decided : withFactors(decided, held);
}

/** A composition before a rebalance: one that takes effect after the decision is known to it as it was decided. */
function outgoingAt(before: Composition, { decision, session }: Pick<DueRebalance, 'decision' | 'session'>): Outgoing {
  return { ...before, ...(before.session > decision ? asDecided(before) : {}), effective: session };
}

/** Constituents on the reference date of a review, with their weights and those that they would have without caps. */
type Current = Pick<Composition, 'columns' | 'weights' | 'uncapped'>;

/**
 * The constituents of an index on a reference date: corporate actions have adjusted them since they took effect. Of a
 * composition that takes effect later those that were decided.
 */
function currentOn(composer: Composer, { indexId, review, rebalance }: ReviewInput, current: Composition): Current {
  const { decision } = rebalance;
  const { columns, weights, uncapped, session } = current;
  if (session > decision)
    return review.scope === 'weights' ? { ...current, columns: asDecided(current).columns } : current;
  if (session === decision) return current;
  const index = {
    sm: composer.market(indexId),
    document: composer.document(indexId),
    treatment: composer.treatment(indexId),
    outside: composer.outsideMergers(indexId),
  };
  const leg = advanced(index, { columns, weights, value: 1 }, session, decision);
  const isCapped = review.scope === 'shares' && !isEqual(weights, uncapped);
  const raw = isCapped ? advanced(index, { columns, weights: uncapped, value: 1 }, session, decision) : leg;
  return { columns: leg.columns, weights: leg.weights, uncapped: raw === leg ? leg.weights : sameColumns(raw, leg) };
}

/**
 * Market values of new share counts, each times the factor that caps had given the constituent. A constituent without a
 * market value keeps its weight beside the others.
 */
function withFactors(decided: Decided, { columns, weights: held, uncapped: raw }: Current): Decided {
  const valueOf = new Map(Array.from(decided.columns, (column, k) => [column, decided.uncapped[k]!]));
  const values = Float64Array.from(columns, (column) => valueOf.get(column) ?? Number.NaN);
  const factored = values.map((value, k) => (value * held[k]!) / raw[k]!);
  const scale = sumOver(factored, (k) => factored[k]!) / sumOver(factored, (k) => held[k]!);
  const weights = normalised(factored.map((value, k) => (value === value ? value : scale * held[k]!)));
  const uncapped = normalised(values.map((value, k) => (value === value ? value : weights[k]!)));
  const redistributed = weightMoved(uncapped, weights);
  return { ...decided, columns, weights, uncapped, cap: null, capped: new Int32Array(0), redistributed };
}

/** Sum of something over the positions of values that are known. */
function sumOver(values: Float64Array, of: (position: number) => number): number {
  return values.reduce((sum, value, k) => (value === value ? sum + of(k) : sum), 0);
}

function normalised(values: Float64Array): Float64Array {
  const sum = values.reduce((total, value) => total + value, 0);
  return values.map((value) => value / sum);
}

/** Whether the composition in force has the share counts of a review, or later ones. */
export function hasCounts(
  known: readonly Composition[],
  { decision, session }: Pick<DueRebalance, 'decision' | 'session'>,
): boolean {
  const current = inForce(known, session);
  return current !== undefined && current.decision >= decision;
}
