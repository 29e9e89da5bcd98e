/**
 * Triggers of a rebalance: the schedule, a breach that the definition answers, or a change of constituents between
 * reviews.
 */
export const REBALANCE_CAUSES = ['schedule', 'breach', 'replacement', 'fast_entry', 'fast_exit'] as const;
export type RebalanceCause = (typeof REBALANCE_CAUSES)[number];

/** Trigger other than the schedule. */
export type EventCause = Exclude<RebalanceCause, 'schedule'>;

/** Returns true if reviews of the definition decided a rebalance, on their dates or because of a breach. */
export const isReviewed = (cause: RebalanceCause): boolean => cause === 'schedule' || cause === 'breach';
