/** What calls for a rebalance: the schedule, or a breach that the definition answers. */
export const REBALANCE_CAUSES = ['schedule', 'breach'] as const;
export type RebalanceCause = (typeof REBALANCE_CAUSES)[number];
