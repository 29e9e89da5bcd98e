/** Triggers of a rebalance: the schedule, a breach, or a change of constituents between reviews. */
export const REBALANCE_CAUSES = ['schedule', 'breach', 'replacement', 'fast_entry', 'fast_exit'] as const;
export type RebalanceCause = (typeof REBALANCE_CAUSES)[number];

/** Triggers other than the schedule. */
export type EventCause = Exclude<RebalanceCause, 'schedule'>;

/** Returns true if a rebalance was decided by reviews of the definition, on their dates or because of a breach. */
export const isReviewed = (cause: RebalanceCause): boolean => cause === 'schedule' || cause === 'breach';
