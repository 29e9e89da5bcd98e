import { noticeSessions } from '../schedule/review-dates.js';
import { DEFAULT_REVIEW, REVIEW_SCOPES, type ReviewScope } from '../schedule/review-scopes.js';
import { isRuleDocument, type IndexDocument, type RuleDocument } from './index-document.js';
import type { ReviewSpec } from './review-spec.js';
import { isMarketValue } from './share-terms.js';

/** A review of an index. */
export interface Review {
  readonly id: string;
  readonly scope: ReviewScope;
  /** The document with the schedule, selection and weighting of the review. */
  readonly document: IndexDocument;
}

const known = new WeakMap<IndexDocument, readonly Review[]>();

/**
 * The reviews of a document in the order in which they run on one date, its own rebalance first among those of its scope.
 * Reviews of share counts are there where weights are market values.
 */
export function reviewsOf(document: IndexDocument): readonly Review[] {
  const found = known.get(document) ?? find(document);
  known.set(document, found);
  return found;
}

function find(document: IndexDocument): Review[] {
  const own: Review = { id: DEFAULT_REVIEW, scope: 'membership', document };
  if (!isRuleDocument(document)) return [own];
  const further = (document.reviews ?? [])
    .filter(({ scope }) => scope !== 'shares' || isMarketValue(document.pipeline.weighting))
    .map((spec): Review => ({ id: spec.id, scope: spec.scope, document: reviewDocument(document, spec) }));
  return [own, ...further].toSorted((a, b) => rankOf(a) - rankOf(b));
}

const rankOf = ({ scope }: Review): number => REVIEW_SCOPES.indexOf(scope);

/** The document as one of its reviews decides it. */
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

/** Largest number of sessions from the reference date of a review to its effective one. */
export function noticeOf(document: IndexDocument): number {
  return Math.max(...reviewsOf(document).map(({ document: { rebalance } }) => noticeSessions(rebalance)));
}

/** A review by its id: the document's own rebalance unless given. */
export function reviewOf(document: IndexDocument, id: string = DEFAULT_REVIEW): Review {
  const review = reviewsOf(document).find((one) => one.id === id);
  if (review === undefined) throw new Error(`the index ${document.id} has no review ${id}`);
  return review;
}
