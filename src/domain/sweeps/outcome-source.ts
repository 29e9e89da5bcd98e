import type { VariantOutcome, VariantRun } from './run-variants.js';

/**
 * Outcomes of the variants of a sweep. They need not all be in memory. They can be visited several times, always in the
 * same arbitrary order.
 */
export interface OutcomeSource {
  /** Number of variants. */
  readonly count: number;
  /** Calls a function with each outcome once. @param variants requested variants. Default: all. */
  visit(call: (variant: number, outcome: VariantOutcome) => void, variants?: ReadonlySet<number>): void;
  /** Returns a key of a run. Two runs have equal keys if and only if their dates and levels are equal. */
  keyOf(run: VariantRun): string;
}

/** Creates a source from outcomes in memory, by variant. */
export function createOutcomeSource(outcomes: readonly VariantOutcome[]): OutcomeSource {
  return {
    count: outcomes.length,
    visit: (call, wanted) =>
      outcomes.forEach((outcome, variant) => {
        if (wanted?.has(variant) ?? true) call(variant, outcome);
      }),
    // A number is formatted so that it parses to an identical double.
    keyOf: ({ days, level }) => `${days.join()} ${level.join()}`,
  };
}
