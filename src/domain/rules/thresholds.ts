interface ThresholdWords {
  readonly help: string;
  /** Suffix of the sentence of a rank test. */
  readonly words: string;
}

/** Kinds of thresholds, with their names in explanations. */
export const THRESHOLDS = {
  minimum: { help: 'minimum value', words: '' },
  maximum: { help: 'maximum value', words: '' },
  incumbent_minimum: { help: 'minimum value for a constituent', words: '' },
  minimum_years: { help: 'minimum number of years with a dividend', words: '' },
  comparison: { help: 'comparison value', words: '' },
  count: { help: 'last rank that is kept', words: '' },
  fraction: { help: 'last rank within the fraction', words: '' },
  coverage: { help: 'last rank within the coverage', words: '' },
  coverage_buffer: {
    help: 'last rank at which a constituent stays',
    words: ', the coverage with the buffer of constituents',
  },
  coverage_lower: { help: 'last rank within the lower band', words: ', the lower band of the coverage' },
  coverage_upper: {
    help: 'last rank at which a constituent stays, within the upper band',
    words: ', the upper band of the coverage',
  },
  enter_rank: { help: 'last rank at which a new security always enters', words: ', the enter rank' },
  exit_rank: { help: 'last rank at which a constituent can stay', words: ', the exit rank of constituents' },
  places: {
    help: 'rank of the last constituent that stayed before the count was reached',
    words: ', because the count was already reached',
  },
  fill_up: { help: 'rank of the last security that completed the count', words: ', because the count was complete' },
} as const satisfies Readonly<Record<string, ThresholdWords>>;

export type ThresholdType = keyof typeof THRESHOLDS;

/** Threshold of a security under a rule. */
export interface Threshold {
  readonly type: ThresholdType;
  /** Last rank that satisfies the threshold; null without a ranking. */
  readonly rank: number | null;
  /**
   * Bound. For a ranking, it is the value of the security at the threshold rank, null if that security has no value.
   */
  readonly value: number | null;
  readonly met: boolean;
  /** Change of the value that would satisfy the threshold; 0 if it is satisfied, null for non-numeric values. */
  readonly distance: number | null;
}

/** Threshold of a ranking. */
export interface RankThreshold {
  readonly type: ThresholdType;
  readonly rank: number;
  /** Additional bound on the value; absent if there is none. */
  readonly bound?: number;
}

/**
 * Returns the thresholds with the decisive one first. This is the first one that is not satisfied; if all are
 * satisfied, it is the first.
 */
export function sortByDecisiveness(thresholds: readonly Threshold[]): Threshold[] {
  return [...thresholds.filter(({ met }) => !met), ...thresholds.filter(({ met }) => met)];
}
