import type { VariantOutcome, VariantRun } from './run-variants.js';

/**
 * Outcomes of the variants of a sweep, which need not be in memory together. They are visited several times, each time
 * in the same arbitrary order.
 */
export interface OutcomeSource {
  /** Number of variants. */
  readonly count: number;
  /** Calls with each outcome once. @param wanted requested variants. Default: all. */
  visit(call: (variant: number, outcome: VariantOutcome) => void, wanted?: ReadonlySet<number>): void;
  /** Returns a text that two runs share exactly if their dates and levels are equal. */
  keyOf(run: VariantRun): string;
}

/** Source of outcomes in memory, by variant. */
export function createOutcomeSource(outcomes: readonly VariantOutcome[]): OutcomeSource {
  return {
    count: outcomes.length,
    visit: (call, wanted) =>
      outcomes.forEach((outcome, variant) => {
        if (wanted?.has(variant) ?? true) call(variant, outcome);
      }),
    // A number is formatted such that it parses to the same double.
    keyOf: ({ days, level }) => `${days.join()} ${level.join()}`,
  };
}
