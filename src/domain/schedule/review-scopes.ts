/** Id of the review for the document's own `rebalance`. */
export const DEFAULT_REVIEW = 'rebalance';

/** Effects of a review, in the order in which reviews of one date run. */
export const REVIEW_SCOPES = ['membership', 'weights', 'shares'] as const;
export type ReviewScope = (typeof REVIEW_SCOPES)[number];
