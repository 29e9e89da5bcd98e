interface ThresholdWords {
  readonly help: string;
  /** Additions of a rank test. */
  readonly words: string;
}

/** Everything that a rule can hold a name against: the one list of what explanations call it. */
export const THRESHOLDS = {
  minimum: { help: 'least value', words: '' },
  maximum: { help: 'greatest value', words: '' },
  incumbent_minimum: { help: 'least value of a constituent', words: '' },
  minimum_years: { help: 'least years with a dividend', words: '' },
  comparison: { help: 'number that the value is compared with', words: '' },
  count: { help: 'last rank of those kept', words: '' },
  fraction: { help: 'last rank of the fraction kept', words: '' },
  coverage: { help: 'last rank of those that cover the share', words: '' },
  coverage_buffer: {
    help: 'last rank at which a constituent stays',
    words: ', the coverage with the buffer of constituents',
  },
  coverage_lower: { help: 'last rank within the lower band', words: ', the lower band of the coverage' },
  coverage_upper: {
    help: 'last rank at which a constituent stays, within the upper band',
    words: ', the upper band of the coverage',
  },
  enter_rank: { help: 'last rank at which a newcomer always enters', words: ', the enter rank' },
  exit_rank: { help: 'last rank at which a constituent may stay', words: ', the exit rank of constituents' },
  places: {
    help: 'rank of the constituent that took the last place, where none was left for those behind it',
    words: ', where the places of constituents ran out',
  },
  fill_up: { help: 'rank of the last name that filled up the count', words: ', where the count was filled up' },
} as const satisfies Readonly<Record<string, ThresholdWords>>;

export type ThresholdType = keyof typeof THRESHOLDS;

/** Threshold of a name under a rule. */
export interface Threshold {
  readonly type: ThresholdType;
  /** Last rank that reaches it; null off a ranking. */
  readonly rank: number | null;
  /** The bound itself, of a ranking the value of the name at that rank; null where that has none. */
  readonly value: number | null;
  readonly met: boolean;
  /** Move of the name's value that reaches it: 0 when met, null off the number line. */
  readonly distance: number | null;
}

/** A threshold of a ranking. */
export interface RankThreshold {
  readonly type: ThresholdType;
  readonly rank: number;
  /** Where it is a bound on the value: that bound. */
  readonly bound?: number;
}

/** The thresholds with the decisive one first: the first that was not met, else the first. */
export function decisiveFirst(thresholds: readonly Threshold[]): Threshold[] {
  return [...thresholds.filter(({ met }) => !met), ...thresholds.filter(({ met }) => met)];
}
