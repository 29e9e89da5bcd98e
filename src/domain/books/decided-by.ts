import { textsOf, type IndexText } from '../documents/amended-texts.js';
import type { IndexDocument } from '../documents/index-document.js';
import { reviewOf, type Review } from '../documents/reviews.js';
import { DEFAULT_REVIEW } from '../schedule/review-scopes.js';
import type { DueText } from './due-rebalances.js';

/** A review of the text that a rebalance follows. */
interface DecidedBy extends Review {
  /** Tells the deciders of one composer apart. */
  readonly key: string;
  readonly text: IndexText;
}

/** The text and the review of a document by which a rebalance is decided. */
export function decidedBy(
  document: IndexDocument,
  { amendment = 0, review = DEFAULT_REVIEW }: DueText = {},
): DecidedBy {
  const text = textsOf(document)[amendment]!; // One for each amendment.
  return { ...reviewOf(text.document, review), key: `${document.id} ${amendment} ${review}`, text };
}
