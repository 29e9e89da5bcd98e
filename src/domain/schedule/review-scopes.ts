/** Id of the review that the `rebalance` of the document defines. */
export const DEFAULT_REVIEW = 'rebalance';

/** Effects of a review, in the order in which reviews of a common date run. */
export const REVIEW_SCOPES = ['membership', 'weights', 'shares'] as const;
export type ReviewScope = (typeof REVIEW_SCOPES)[number];
