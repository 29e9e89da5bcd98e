import type { VariantOutcome, VariantRun } from './run-variants.js';

/**
 * Outcomes of the variants of a sweep, which need not be in memory together. They are visited several times, each time
 * in the same order, which is any.
 */
export interface OutcomeSource {
  /** Variants. */
  readonly count: number;
  /** Calls with each outcome once. @param wanted variants that are asked for; all by default */
  visit(call: (variant: number, outcome: VariantOutcome) => void, wanted?: ReadonlySet<number>): void;
  /** Text that two runs share exactly when their dates and levels are equal. */
  keyOf(run: VariantRun): string;
}

/** Outcomes in memory, by variant. */
export function outcomesInMemory(outcomes: readonly VariantOutcome[]): OutcomeSource {
  return {
    count: outcomes.length,
    visit: (call, wanted) =>
      outcomes.forEach((outcome, variant) => {
        if (wanted?.has(variant) ?? true) call(variant, outcome);
      }),
    // A number is written so that it reads back to the same double.
    keyOf: ({ days, level }) => `${days.join()} ${level.join()}`,
  };
}
