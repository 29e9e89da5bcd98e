/** Rules by which securities enter an index between reviews. */
export const SWAP_RULES = {
  next_ranked: 'the best-ranked security that the last review did not select replaced a constituent that left',
  reserve: 'the first security of `events.reserve` with a price replaced a constituent that left',
  fast_exit: '`events.fast_exit` removed a constituent that was ranked too low',
  fast_entry: '`events.fast_entry` added a new security that was ranked high enough',
} as const;
export type SwapRule = keyof typeof SWAP_RULES;

/** Swap between reviews: a security that entered, and the constituent that it replaced. */
export interface ConstituentSwap {
  readonly rule: SwapRule;
  /** Column that entered. */
  readonly entered: number;
  /** Column that left. */
  readonly left: number;
  /** Session whose data decided the change. */
  readonly decision: number;
  /** Session whose data ranked the security that entered. Null if it came from the reserve list. */
  readonly ranked: number | null;
  /** Rank of the security that entered; 1 is the best. */
  readonly rank: number;
  /**
   * Rank of the replaced constituent in the ranking that selected its replacement. Null if the constituent left through
   * a corporate action or has no value.
   */
  readonly leftRank: number | null;
}

/** Security that replaces a constituent, with its rank. */
export interface Candidate {
  readonly column: number;
  readonly rank: number;
}
