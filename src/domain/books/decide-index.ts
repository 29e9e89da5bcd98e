import { listTexts } from '../documents/amended-texts.js';
import { findTreatment } from '../documents/treatment.js';
import { addRebalanceDate, type Finding } from '../refusals/findings.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { findFirstAtLeast } from '../numbers/search.js';
import { formatDay, parseValidDay } from '../time/days.js';
import type { Review } from '../documents/reviews.js';
import { DEFAULT_REVIEW } from '../schedule/review-scopes.js';
import {
  findCompositionInForce,
  isReview,
  type Composer,
  type Composition,
  type SelectionReference,
} from './compositions.js';
import { decideReview, hasCounts, type ReviewInput } from './decide-review.js';
import { findDecider } from './decided-by.js';
import { warnOfExceededLimit } from './exceeded-limit.js';
import type { DueRebalance } from './due-rebalances.js';
import { refuseEmptyIndex, reportHoldings, applyDecision, type AdoptingIndex } from './take-effect.js';
import { beginPhase, continuePhase } from './transition.js';

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
  const { transition } = before ?? {};
  if (before === undefined || transition === undefined || before.phase?.start !== rebalance.phase!.start)
    return { findings: [] };
  const index = createTakingIndex(composer, input);
  return { composition: continuePhase(index, rebalance, { ...before, transition }), findings: [] };
}

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
    document: listTexts(composer.document(indexId))[rebalance.amendment ?? 0]!.document,
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
      const isPhased = rebalance.phase !== undefined && before !== undefined;
      const composition = addReviews(
        input,
        isPhased ? beginPhase(index, rebalance, { before, whole: reviewedComposition }) : reviewedComposition,
      );
      const findings = addRebalanceDate(decision.findings, rebalance.date);
      return { composition, findings: [...findings, ...warnOfExceededLimit(composer, indexId, composition)] };
    }
  }
  if (known.length === 0) throw refuseEmptyIndex(indexId, sm, { rebalance, decision });
  return { findings: addRebalanceDate([reportHoldings(rebalance, decision)], rebalance.date) };
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
