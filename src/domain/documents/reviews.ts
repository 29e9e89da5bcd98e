import { findFirstAtLeast } from '../numbers/search.js';
import { countNoticeSessions } from '../schedule/review-dates.js';
import { DEFAULT_REVIEW, REVIEW_SCOPES, type ReviewScope } from '../schedule/review-scopes.js';
import { listRebalanceDates, type RebalanceDate, type ScheduleQuery } from '../schedule/schedule.js';
import { isRuleDocument, type IndexDocument, type RuleDocument } from './index-document.js';
import type { ReviewSpec } from './review-spec.js';
import { isMarketValue } from './share-terms.js';

/** Review of an index. */
export interface Review {
  readonly id: string;
  readonly scope: ReviewScope;
  /** Document with the schedule, selection and weighting of the review. */
  readonly document: IndexDocument;
}

const reviewsByDocument = new WeakMap<IndexDocument, readonly Review[]>();

/**
 * Returns the reviews of a document in the order in which they run on a common date. Of several reviews with one scope,
 * the rebalance of the document comes first. Reviews of share counts exist only if weights are market values.
 */
export function listReviews(document: IndexDocument): readonly Review[] {
  const result = reviewsByDocument.get(document) ?? findReviews(document);
  reviewsByDocument.set(document, result);
  return result;
}

function findReviews(document: IndexDocument): Review[] {
  const mainReview: Review = { id: DEFAULT_REVIEW, scope: 'membership', document };
  if (!isRuleDocument(document)) return [mainReview];
  const furtherReviews = (document.reviews ?? [])
    .filter(({ scope }) => scope !== 'shares' || isMarketValue(document.pipeline.weighting))
    .map((spec): Review => ({ id: spec.id, scope: spec.scope, document: reviewDocument(document, spec) }));
  return [mainReview, ...furtherReviews].toSorted((a, b) => findRank(a) - findRank(b));
}

const findRank = ({ scope }: Review): number => REVIEW_SCOPES.indexOf(scope);

/** Returns the document that applies at one of its reviews. */
function reviewDocument({ reviews: _reviews, ...document }: RuleDocument, spec: ReviewSpec): RuleDocument {
  const { pipeline } = document;
  return {
    ...document,
    rebalance: spec.schedule,
    pipeline: {
      ...pipeline,
      selection: spec.scope === 'membership' ? (spec.selection ?? pipeline.selection) : [],
      weighting: (spec.scope === 'shares' ? undefined : spec.weighting) ?? pipeline.weighting,
    },
  };
}

/** Returns the largest number of sessions from the reference date of a review to its effective date. */
export function readNotice(document: IndexDocument): number {
  return Math.max(...listReviews(document).map(({ document: { rebalance } }) => countNoticeSessions(rebalance)));
}

/** Returns a review by its id. Default: the rebalance of the document. */
export function findReview(document: IndexDocument, id: string = DEFAULT_REVIEW): Review {
  const review = listReviews(document).find((one) => one.id === id);
  if (review === undefined) throw new Error(`the index ${document.id} has no review ${id}`);
  return review;
}

/**
 * Returns the dates of a review. The base date is always a date of the `rebalance` of the document, and of another review
 * only if it is in the schedule of that review.
 */
export function listReviewDates(
  { id, document: { rebalance } }: Review,
  query: Omit<ScheduleQuery, 'rebalance'>,
): readonly RebalanceDate[] {
  if (id === DEFAULT_REVIEW) return listRebalanceDates({ ...query, rebalance });
  // Every schedule begins with its base day. From the session before it on, only scheduled dates follow.
  const { sessions } = query.calendar;
  const before = sessions[findFirstAtLeast(sessions, query.baseDay) - 1];
  const from = Math.max(query.from, query.baseDay);
  if (before !== undefined) return listRebalanceDates({ ...query, rebalance, baseDay: before, from });
  return listRebalanceDates({ ...query, rebalance }).filter(({ session }) => session !== sessions[0]);
}
