import { listTexts, type IndexText } from '../documents/amended-texts.js';
import type { IndexDocument } from '../documents/index-document.js';
import { findReview, type Review } from '../documents/reviews.js';
import { DEFAULT_REVIEW } from '../schedule/review-scopes.js';
import type { DueRebalance, DueText } from './due-rebalances.js';

/** Review of the definition by which a rebalance is decided. */
interface DecidingReview extends Review {
  /** Key of the decider within one composer. */
  readonly key: string;
  readonly text: IndexText;
}

/** Returns the version of the definition and the review that decide a rebalance. */
export function findDecider(
  document: IndexDocument,
  { amendment = 0, review = DEFAULT_REVIEW }: DueText = {},
): DecidingReview {
  const text = listTexts(document)[amendment]!; // there is one version per amendment
  return { ...findReview(text.document, review), key: `${document.id} ${amendment} ${review}`, text };
}

/**
 * Returns the session whose earlier changes of constituents a rebalance follows. A review that keeps the constituents
 * keeps those in force before its effective close. It only reads prices and weights as of its reference date.
 */
export const findFollowedSession = (document: IndexDocument, rebalance: DueRebalance): number =>
  findDecider(document, rebalance).scope === 'membership' ? rebalance.decision : rebalance.session;
