import { addRebalanceDate, type Finding } from '../base/findings.js';
import { findFirstAtLeast, findLastAtMost, formatNumber, isEqual } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { formatDay, parseValidDay } from '../base/time.js';
import type { IndexWeights, WeightBasis } from '../datapoints/evaluation.js';
import { listDatedTexts, type Review } from '../definition/amendments.js';
import { isOverlayDocument } from '../definition/index-document.js';
import { DEFAULT_REVIEW, type RebalanceSpec } from '../definition/schedule.js';
import { countStaleSessions, findTreatment } from '../definition/treatment.js';
import { hasLeftMarket, readPanelRow, type SessionMarket } from '../market/session-market.js';
import type { SecurityCounts } from './book.js';
import {
  type Composer,
  type Composition,
  type DecidedComposition,
  type Decision,
  type FailedDecision,
  findCompositionInForce,
  isReview,
  type OutgoingComposition,
  type PhasePortfolio,
  type PortfolioPair,
  restoreDecided,
  type SelectionReference,
  sumMovedWeight,
  type Transition,
  warnOfExceededLimit,
} from './compositions.js';
import { computePendingIndexShares, type PendingShares, type PendingSharesInput } from './index-run.js';
import { type DueRebalance, findDecider } from './rebalance-dates.js';
import { createShareChangeTerms, readCounts } from './state.js';
import { takeOverSecurity } from './trading.js';
import { findIncumbents, selectPriceable } from './universe.js';

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

interface AdoptingIndex extends Pick<PendingSharesInput, 'sm' | 'document' | 'treatment' | 'outside'> {
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
  const pendingShares = computePendingIndexShares(pendingInput, {
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
          computePendingIndexShares(pendingInput, { columns, weights: uncapped, ...countsMember }),
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

function alignToColumns(
  { columns, weights }: Pick<PendingShares, 'columns' | 'weights'>,
  { columns: pendingColumns }: Pick<PendingShares, 'columns'>,
): Float64Array {
  const weightByColumn = new Map(Array.from(columns, (column, k) => [column, weights[k]!]));
  return Float64Array.from(pendingColumns, (column) => weightByColumn.get(column) ?? 0);
}

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

/**
 * Returns the refusal for an index that is empty at its start. If the decider has a detailed refusal, returns that one.
 * Its details count the securities that each rule left on the reference date.
 */
function refuseEmptyIndex(
  indexId: string,
  sm: SessionMarket,
  { rebalance, decision }: { readonly rebalance: DueRebalance; readonly decision: DecidedComposition | FailedDecision },
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

function reportHoldings(rebalance: DueRebalance, decision: DecidedComposition | FailedDecision): Finding {
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

/** Computes the composition at a close of a phase from the composition in force before it. */
type PhaseStep = (before: Composition) => Composition;

const stepsOfCloses = new WeakMap<Composition, PhaseStep>();

function takePhaseStep(step: PhaseStep, before: Composition): Composition {
  const composition = step(before);
  stepsOfCloses.set(composition, step);
  return composition;
}

/**
 * Computes the closes of phases after a position again. A review of constituents is decided on its reference date, but
 * its phase starts from the composition in force before the first close, which may be decided later.
 */
export function updatePhases(list: Composition[], position: number): void {
  for (let k = position + 1; k < list.length; k++) {
    const step = stepsOfCloses.get(list[k]!);
    if (step === undefined) return;
    list[k] = takePhaseStep(step, list[k - 1]!);
  }
}

/** Rebalance that is spread over several closes. */
export interface PhasedRebalance {
  /** Composition in force before the phase. */
  readonly before: Composition;
  /** Composition that results if the whole rebalance takes effect at one close. */
  readonly whole: Composition;
}

/**
 * Starts a rebalance that is spread over several closes, at its first close. Old and new portfolio both have the market
 * value of the index. At each close a part of the index shares moves from the old to the new portfolio.
 */
function beginPhase(index: AdoptingIndex, due: DueRebalance, { before, whole }: PhasedRebalance): Composition {
  const { session } = due;
  const isBasket = before.basket !== undefined && whole.basket !== undefined;
  const createOldPortfolio = (weights: Float64Array): PhasePortfolio => {
    const leg = advancePortfolio(
      index,
      { columns: before.columns, weights, value: before.basket ?? 1, ...readShareCounts(before), ...readFixed(before) },
      before.session,
      session,
    );
    const { fixedShares: _fixedShares, ...drifted } = leg;
    return isBasket ? leg : { ...drifted, value: 1 };
  };
  const createTarget = (weights: Float64Array): PhasePortfolio => ({
    columns: whole.columns,
    weights,
    value: isBasket ? whole.basket : 1,
    ...readShareCounts(whole),
    ...readFixed(whole),
  });
  const isCapped = !isEqual(before.weights, before.uncapped) || !isEqual(whole.weights, whole.uncapped);
  const targets = restoreDecided(whole);
  return mixPortfolios({ ...whole, targets }, due, {
    applied: { held: createOldPortfolio(before.weights), target: createTarget(whole.weights) },
    ...(isCapped
      ? { uncapped: { held: createOldPortfolio(before.uncapped), target: createTarget(whole.uncapped) } }
      : {}),
    caps: { cap: whole.cap, capped: whole.capped, redistributed: whole.redistributed },
    isBasket,
  });
}

/**
 * Continues a rebalance that is spread over several closes, from its previous close. If `weights_as` is `weights`, the
 * target portfolio keeps its weights at the market value of the old portfolio; otherwise its shares drift.
 */
function continuePhase(
  index: AdoptingIndex,
  due: DueRebalance,
  before: Composition & { readonly transition: Transition },
): Composition {
  const { session: from, transition } = before;
  const { uncapped } = transition;
  const isFixed = index.weightsAs === 'weights';
  const advancePair = ({ held, target }: PortfolioPair): PortfolioPair => {
    const later = advancePortfolio(index, held, from, due.session);
    const driftedPortfolio = advancePortfolio(index, target, from, due.session);
    return { held: later, target: isFixed ? keepWeights(target, driftedPortfolio, later.value) : driftedPortfolio };
  };
  return mixPortfolios(before, due, {
    ...transition,
    applied: advancePair(transition.applied),
    ...(uncapped === undefined ? {} : { uncapped: advancePair(uncapped) }),
  });
}

/** Returns a portfolio with its previous weights and a new value, without constituents that have left. */
function keepWeights(
  { columns, weights }: PhasePortfolio,
  { columns: staying, counts }: PhasePortfolio,
  value: number,
): PhasePortfolio {
  const remainingColumns = staying.filter((column) => columns.includes(column));
  const remainingCounts = counts && collectCounts(remainingColumns, [{ columns: staying, counts }]);
  const remainingWeights = Float64Array.from(remainingColumns, (column) => weights[columns.indexOf(column)]!);
  const sum = remainingWeights.reduce((total, weight) => total + weight, 0);
  return {
    columns: remainingColumns,
    weights:
      remainingColumns.length === columns.length ? remainingWeights : remainingWeights.map((weight) => weight / sum),
    value,
    ...(remainingCounts ? { counts: remainingCounts } : {}),
  };
}

/**
 * Advances a portfolio from one close to a later one. Corporate actions adjust its shares. If a security leaves, the
 * others take over its weight.
 */
function advancePortfolio(
  index: Omit<AdoptingIndex, 'weightsAs'>,
  { value, ...leg }: PhasePortfolio,
  from: number,
  to: number,
): PhasePortfolio {
  if (from === to) return { ...leg, value };
  const basket = leg.fixedShares === undefined ? {} : { basket: value };
  const { growth, ...taken } = computePendingIndexShares(
    { ...index, pricing: from, session: to },
    { ...leg, ...basket },
  );
  return { ...taken, value: value * growth };
}

/** Returns the weights of an index, by its id, for a decision on a session. Null before its first composition. */
export type IndexWeightsReader = (indexId: string, session: number, basis: WeightBasis) => IndexWeights | null;

/**
 * Creates the reader of the weights of other indices for the decisions of an index. Decided weights are those of the
 * latest composition that was decided on or before the session. Drifted weights are those after the close of the session
 * of the composition in force.
 */
export function createIndexWeights(composer: Composer, indexId: string): IndexWeightsReader {
  const driftedWeights = new Map<string, IndexWeights | null>();
  return (requestedId, session, basis) => {
    const day = composer.market(indexId).sessions[session]!;
    const latestSession = findLastAtMost(composer.market(requestedId).sessions, day);
    if (basis === 'decided') return composer.decidedOn(requestedId, latestSession) ?? null;
    const key = `${requestedId} ${latestSession}`;
    let weights = driftedWeights.get(key);
    if (weights === undefined)
      driftedWeights.set(key, (weights = computeDriftedWeights(composer, requestedId, latestSession)));
    return weights;
  };
}

function computeDriftedWeights(composer: Composer, indexId: string, session: number): IndexWeights | null {
  const document = composer.document(indexId);
  if (isOverlayDocument(document)) throw refuseOverlaidWeights(indexId);
  const known = composer.knownBefore(indexId, session);
  const composition = findCompositionInForce(known, session);
  if (composition === undefined) return null;
  const index = {
    sm: composer.market(indexId),
    document,
    treatment: composer.treatment(indexId),
    outside: composer.outsideMergers(indexId),
  };
  const { columns, weights, basket: value = 1 } = composition;
  const portfolio = { columns, weights, value, ...readFixed(composition), ...readShareCounts(composition) };
  return advancePortfolio(index, portfolio, composition.session, session);
}

function refuseOverlaidWeights(indexId: string): Refusal {
  const message = `drifted_weight_in reads the index ${indexId}, which is an overlay. Name the index beneath it instead.`;
  return new Refusal('VALIDATION_FAILED', message, { index_id: indexId });
}

const readFixed = ({ fixedShares }: Pick<PhasePortfolio, 'fixedShares'>): Pick<PhasePortfolio, 'fixedShares'> =>
  fixedShares === undefined ? {} : { fixedShares };

function readShareCounts({ counts }: Pick<PhasePortfolio, 'counts'>): Pick<PhasePortfolio, 'counts'> {
  return counts === undefined ? {} : { counts };
}

/** Returns the share counts of securities, each from the first portfolio that holds the security. */
function collectCounts(
  columns: Int32Array,
  legs: readonly Pick<PhasePortfolio, 'columns' | 'counts'>[],
): SecurityCounts {
  const countsByColumn = new Map<number, readonly [number, number]>();
  for (const { columns: legColumns, counts } of legs.toReversed())
    legColumns.forEach(
      (column, k) =>
        void countsByColumn.set(column, [counts?.adopted[k] ?? Number.NaN, counts?.latest[k] ?? Number.NaN]),
    );
  return {
    adopted: Float64Array.from(columns, (column) => countsByColumn.get(column)?.[0] ?? Number.NaN),
    latest: Float64Array.from(columns, (column) => countsByColumn.get(column)?.[1] ?? Number.NaN),
  };
}

/**
 * Returns the composition at one close of a rebalance that is spread over several closes. The completed fraction is in
 * the target portfolio, the rest in the old portfolio.
 */
function mixPortfolios(like: Composition, due: DueRebalance, transition: Transition): Composition {
  const { fraction } = due.phase!; // only closes of a phase reach this function
  const { applied, uncapped = applied, isBasket } = transition;
  const { columns, weights, value, fixedShares } = mixPair(applied, fraction);
  const {
    basket: _basket,
    fixedShares: _shares,
    transition: _transition,
    worth: _worth,
    counts: ofLike,
    ...rest
  } = like;
  const raw = uncapped === applied ? weights : alignToColumns(mixPair(uncapped, fraction), { columns });
  return {
    ...rest,
    ...due,
    columns,
    weights,
    uncapped: raw,
    ...(fraction === 1 && satisfiesCapsBetween(transition.caps, { columns, weights })
      ? selectCaps(transition.caps, columns)
      : { ...NO_CAP, redistributed: sumMovedWeight(raw, weights) }),
    ...(isBasket ? { basket: value } : {}),
    ...(isBasket && fixedShares !== undefined ? { fixedShares } : {}),
    ...(ofLike === undefined ? {} : { counts: collectCounts(columns, [applied.target, applied.held]) }),
    ...(fraction < 1 ? { transition } : {}),
  };
}

/**
 * Returns true if the caps still hold. They may not: securities that leave between the closes change the other weights.
 */
function satisfiesCapsBetween(
  { cap, capped }: Transition['caps'],
  { columns, weights }: Pick<Composition, 'columns' | 'weights'>,
): boolean {
  if (cap === null) return true;
  return weights.every((weight, k) =>
    capped.includes(columns[k]!) ? Math.abs(weight - cap) <= ROUNDING : weight <= cap + ROUNDING,
  );
}

/** Maximum difference of two weights that are equal up to rounding. */
const ROUNDING = 1e-12;

/** Cap fields before the target is reached, when no cap applies. */
const NO_CAP = { cap: null, capped: new Int32Array(0) };

function selectCaps({ capped, ...caps }: Transition['caps'], columns: Int32Array): Transition['caps'] {
  return { ...caps, capped: capped.filter((column) => columns.includes(column)) };
}

function mixPair({ held, target }: PortfolioPair, fraction: number): PhasePortfolio {
  if (fraction === 1) return target;
  const [kept, moved] = [(1 - fraction) * held.value, fraction * target.value];
  const value = kept + moved;
  const weightByColumn = new Map<number, number>();
  held.columns.forEach((column, k) => void weightByColumn.set(column, (kept * held.weights[k]!) / value));
  target.columns.forEach(
    (column, k) =>
      void weightByColumn.set(column, (weightByColumn.get(column) ?? 0) + (moved * target.weights[k]!) / value),
  );
  const entries = [...weightByColumn].toSorted(([a], [b]) => a - b);
  const findShares = ({ columns, fixedShares }: PhasePortfolio, column: number): number =>
    fixedShares?.[columns.indexOf(column)] ?? 0;
  return {
    columns: Int32Array.from(entries, ([column]) => column),
    weights: Float64Array.from(entries, ([, weight]) => weight),
    value,
    ...(held.fixedShares === undefined || target.fixedShares === undefined
      ? {}
      : {
          fixedShares: Float64Array.from(
            entries,
            ([column]) => (1 - fraction) * findShares(held, column) + fraction * findShares(target, column),
          ),
        }),
  };
}

interface ReviewInput {
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
  const { indexId, known } = input;
  return composer.decideKnowing(indexId, known, () => decideKnown(composer, input));
}

function decideKnown(composer: Composer, input: ReviewInput): Decision {
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
function hasCounts(
  compositions: readonly Composition[],
  { decision, session }: Pick<DueRebalance, 'decision' | 'session'>,
): boolean {
  const latestReview = findCompositionInForce(compositions.filter(isReview), session);
  return latestReview !== undefined && latestReview.decision >= decision;
}

interface DecideInput {
  readonly indexId: string;
  readonly rebalance: DueRebalance;
  /** Compositions before the rebalance, ascending. */
  readonly known: readonly Composition[];
}

interface DecidedRebalance {
  /** Decided composition. Absent if the previous composition remains in force. */
  readonly composition?: Composition;
  readonly findings: readonly Finding[];
}

/**
 * Decides one rebalance. If the first rebalance produces no composition, it is refused.
 * @throws Refusal NO_DATA_KNOWN; EMPTY_INDEX or the detailed refusal of the decider for the first rebalance
 */
export function decideRebalanceOn(composer: Composer, { indexId, rebalance, known }: DecideInput): DecidedRebalance {
  const { review: _review, ...due } = rebalance;
  const { phase, date } = due;
  const review = findDecider(composer.document(indexId), rebalance);
  const input = { indexId, review, rebalance: due, known };
  if (phase !== undefined && phase.start !== date) return continueReview(composer, input);
  if (review.scope === 'shares' && hasCounts(known, due)) return joinReview(input);
  const later = findLaterSelection(composer.market(indexId), input);
  if (later !== undefined) return { findings: [reportSuperseded(composer.market(indexId), input, later)] };
  return decideNew(composer, input);
}

interface DecideDueInput extends ReviewInput {
  readonly rebalance: DueRebalance;
}

/**
 * Decides a later close of a rebalance that is spread over several closes. Returns no composition if the first close
 * was skipped, or if another rebalance has replaced this one.
 */
function continueReview(composer: Composer, input: DecideDueInput): DecidedRebalance {
  const { rebalance, known } = input;
  const before = findCompositionInForce(known, rebalance.session - 1);
  if (before?.transition === undefined || before.phase?.start !== rebalance.phase!.start) return { findings: [] };
  const step = createLaterStep(createTakingIndex(composer, input), rebalance);
  return { composition: takePhaseStep(step, before), findings: [] };
}

const createLaterStep =
  (index: AdoptingIndex, rebalance: DueRebalance): PhaseStep =>
  ({ transition, ...before }) =>
    continuePhase(index, rebalance, { ...before, transition: transition! }); // no change takes effect between two closes

const createFirstStep =
  (index: AdoptingIndex, rebalance: DueRebalance, whole: Composition): PhaseStep =>
  (before) =>
    beginPhase(index, { ...rebalance, date: whole.date, also: whole.also }, { before, whole });

/**
 * Returns the selection of constituents in force that was decided after the reference date of a review of constituents.
 * The later decision stays: the review would undo it with older data. A review under a new version of the definition
 * replaces selections under earlier versions, and every review replaces the composition with which the index begins.
 */
function findLaterSelection(
  { calendar, sessions }: SessionMarket,
  { review, rebalance, known }: DecideDueInput,
): Composition | undefined {
  if (review.scope !== 'membership') return undefined;
  const before = known.findLast(({ session, cause }) => cause === undefined && session < rebalance.session);
  if (before === undefined || (before.amendment ?? 0) !== (rebalance.amendment ?? 0)) return undefined;
  const { decision } = findSelection(before);
  const base = calendar.sessions[findFirstAtLeast(calendar.sessions, parseValidDay(review.document.base_date))]!;
  return decision > rebalance.decision && sessions[decision]! > base ? before : undefined;
}

function reportSuperseded(
  { sessions }: SessionMarket,
  { review, rebalance }: DecideDueInput,
  composition: Composition,
): Finding {
  const later = findSelection(composition);
  const message = `The review ${review.id} of ${formatDay(rebalance.date)} was not executed, and the previous composition stays: its constituents were selected by the review ${later.review} on ${formatDay(sessions[later.decision]!)}, after the reference date ${formatDay(sessions[rebalance.decision]!)} of this review.`;
  const [finding] = addRebalanceDate(
    [{ severity: 'warning', code: 'REBALANCE_HELD', message, path: '' }],
    rebalance.date,
  );
  return finding!;
}

/**
 * Records a review of share counts that the latest composition already includes. Returns no composition if the latest
 * composition takes effect before the session of the review.
 */
function joinReview({ review, rebalance, known }: DecideDueInput): DecidedRebalance {
  const currentComposition = findCompositionInForce(known, rebalance.session);
  if (currentComposition?.session !== rebalance.session) return { findings: [] };
  return {
    composition: { ...currentComposition, reviews: [...listReviews(currentComposition), review.id] },
    findings: [],
  };
}

function createTakingIndex(composer: Composer, { indexId, review, rebalance }: DecideDueInput): AdoptingIndex {
  const sm = composer.market(indexId);
  return {
    sm,
    document: listDatedTexts(composer.document(indexId))[rebalance.amendment ?? 0]!.document,
    // The rebalance follows its version of the definition from the day after its effective session.
    treatment: findTreatment(composer.treatment(indexId), sm.sessions[rebalance.session]! + 1),
    outside: composer.outsideMergers(indexId),
    weightsAs: review.document.rebalance.weights_as,
  };
}

function decideNew(composer: Composer, input: DecideDueInput): DecidedRebalance {
  const { indexId, review, rebalance, known } = input;
  const sm = composer.market(indexId);
  const seat = composer.seatOf(indexId, rebalance.decision);
  const decision = decideReview(composer, input);
  if (decision.kind === 'decided') {
    assertHasHoldings(seat.composer.market(indexId), decision.columns, sm);
    const index = createTakingIndex(composer, input);
    const reviewedComposition = applyDecision(...createReviewTerms(index, review, rebalance), decision);
    if (reviewedComposition) {
      const before = findCompositionInForce(known, rebalance.session - 1);
      const whole = addReviews(input, reviewedComposition);
      const isPhased = rebalance.phase !== undefined && before !== undefined;
      const composition = isPhased ? takePhaseStep(createFirstStep(index, rebalance, whole), before) : whole;
      const findings = addRebalanceDate(
        [...decision.findings, ...reportUnreached(composer.market(indexId), input)],
        rebalance.date,
      );
      return { composition, findings: [...findings, ...warnOfExceededLimit(composer, indexId, whole)] };
    }
  }
  if (known.length === 0) throw refuseEmptyIndex(indexId, sm, { rebalance, decision });
  return { findings: addRebalanceDate([reportHoldings(rebalance, decision)], rebalance.date) };
}

/** Reports a review whose reference date has no data, so that it is decided on later data than the definition states. */
function reportUnreached({ sessions }: SessionMarket, { review, rebalance }: DecideDueInput): Finding[] {
  const { unreached, decision, date } = rebalance;
  if (unreached === undefined) return [];
  const decided = sessions[decision]!;
  const lateness =
    decided > unreached.announcement ? `, after its announcement on ${formatDay(unreached.announcement)}` : '';
  const message = `The reference date of the review ${review.id} of ${formatDay(date)} is ${formatDay(unreached.reference)}, before the first session of the store, ${formatDay(sessions[0]!)}. The review was decided on the data of ${formatDay(decided)}${lateness}.`;
  return [{ severity: 'warning', code: 'LOOK_AHEAD', message, path: '' }];
}

/**
 * Returns the terms of the index for a review. A review of share counts uses the counts on the reference date as index
 * shares.
 */
function createReviewTerms(
  index: AdoptingIndex,
  { scope }: Review,
  rebalance: DueRebalance,
): [AdoptingIndex, DueRebalance] {
  if (scope !== 'shares') return [index, rebalance];
  const { pricing: _pricing, ...due } = rebalance;
  return [{ ...index, weightsAs: 'shares' }, due];
}

/**
 * Adds to a composition the reviews that ran on its session and the latest selection of constituents. Changes only
 * indices with several reviews.
 */
function addReviews({ review, rebalance, known }: DecideDueInput, composition: Composition): Composition {
  if (review.document.reviews === undefined && review.id === DEFAULT_REVIEW) return composition;
  const currentComposition = findCompositionInForce(known, rebalance.session);
  const before = currentComposition?.session === composition.session ? currentComposition : undefined;
  const dates = [...new Set([...(before ? [before.date, ...before.also] : []), composition.date, ...composition.also])];
  const [date, ...also] = dates.toSorted((a, b) => a - b);
  const selectionReference = {
    review: review.id,
    decision: rebalance.decision,
    ...(review.scope === 'membership' || currentComposition === undefined ? {} : findSelection(currentComposition)),
  };
  return {
    ...composition,
    date: date!,
    also,
    selected: selectionReference,
    reviews: [...(before ? listReviews(before) : []), review.id],
    ...(composition.ranking === undefined && currentComposition?.ranking !== undefined
      ? { ranking: currentComposition.ranking }
      : {}),
  };
}

function listReviews(composition: Composition): readonly string[] {
  const { reviews = isReview(composition) ? [DEFAULT_REVIEW] : [] } = composition;
  return reviews;
}

/** Returns the latest selection of constituents on which a composition is based. */
export function findSelection({ selected, decision }: Composition): SelectionReference {
  return selected ?? { review: DEFAULT_REVIEW, decision };
}

/** Inserts a composition in session order. It replaces a composition of another review on the session. */
export function addComposition(list: Composition[], composition: Composition): void {
  const position = list.findLastIndex(({ session }) => session <= composition.session);
  const isReviewed = composition.reviews !== undefined && list[position]?.session === composition.session;
  if (isReviewed) list[position] = composition;
  else list.splice(position + 1, 0, composition);
  updatePhases(list, isReviewed ? position : position + 1);
}

/**
 * Checks that the run's data contain every selected security.
 * @throws Refusal NO_DATA_KNOWN
 */
function assertHasHoldings(sessionMarket: SessionMarket, columns: Int32Array, { securityCount }: SessionMarket): void {
  if (columns.length === 0 || columns.at(-1)! < securityCount) return;
  const missingColumn = columns.find((column) => column >= securityCount)!; // columns ascend
  const identifier = sessionMarket.identifiers[missingColumn]!;
  const message = `The security ${identifier} was selected from the data known at that time, but the data of the run does not contain it.`;
  throw new Refusal('NO_DATA_KNOWN', message, { identifier });
}
