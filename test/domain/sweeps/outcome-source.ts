import type { OutcomeSource, VariantOutcome } from '#domain/studies/sweep-runs.js';

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
