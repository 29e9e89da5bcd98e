/** Rules by which securities enter between reviews. */
export const SWAP_RULES = {
  next_ranked: 'the best-ranked security that the last review left out, for a constituent that left',
  reserve: 'the first security of `events.reserve` with a price, for a constituent that left',
  fast_exit: '`events.fast_exit` removed a constituent that was ranked too low',
  fast_entry: '`events.fast_entry` added a new security that was ranked high enough',
} as const;
export type SwapRule = keyof typeof SWAP_RULES;

/** Security that entered between reviews, and the constituent that it replaced. */
export interface ConstituentSwap {
  readonly rule: SwapRule;
  /** Column that entered. */
  readonly entered: number;
  /** Column that left. */
  readonly left: number;
  /** Session whose data decided the change. */
  readonly decision: number;
  /** Session whose data ranked the security that entered; null if it came from the reserve. */
  readonly ranked: number | null;
  /** Rank of the security that entered, 1 the best. */
  readonly rank: number;
  /** Rank of the constituent in the same order; null if it left by a corporate action or has no value. */
  readonly leftRank: number | null;
}

/** Security that enters to replace one that left. */
export interface Candidate {
  readonly column: number;
  readonly rank: number;
}
