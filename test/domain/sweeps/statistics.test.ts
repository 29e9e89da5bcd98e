import { readFileSync } from 'node:fs';
import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import {
  computeExpectedMaximumSharpe,
  computeProbabilisticSharpe,
  createOverfitting,
  createSharpeSample,
  type Overfitting,
  type OverfittingInput,
  rateOverfitting,
} from '#domain/studies/overfitting.js';
import { seeded } from '../../seeded.js';

const golden = JSON.parse(readFileSync('test/golden/overfitting/cscv.json', 'utf8')) as {
  returns: number[][];
  cscv: {
    partitions: number;
    probability: number;
    probability_of_loss: number;
    median_logit: number;
    combinations: number;
    observations: number;
  }[];
  moments: { sharpe: number; skewness: number; kurtosis: number }[];
};

/** Transposes rows by time into rows by variant. */
const transposeRows = (rows: readonly (readonly number[])[]): Float64Array =>
  Float64Array.from(rows[0]!.flatMap((_, n) => rows.map((row) => row[n]!)));

/** @param returns by variant, [N x T] */
function estimateOverfitting({
  returns,
  ...shape
}: OverfittingInput & { readonly returns: Float64Array }): Overfitting | undefined {
  const estimate = createOverfitting(shape);
  const { variants, observations } = shape;
  for (let n = 0; n < variants; n++) estimate?.add(n, returns.subarray(n * observations, (n + 1) * observations));
  return estimate?.end();
}

function expectClose(actual: number | undefined, expected: number, tolerance = 1e-12): void {
  expect(Math.abs(actual! - expected)).toBeLessThanOrEqual(tolerance * Math.max(1, Math.abs(expected)));
}

describe('the deflated Sharpe ratio', () => {
  /**
   * Bailey and López de Prado (2014), section "A numerical example": an annualised Sharpe ratio of 2.5 over 1,250 days,
   * with 250 days a year.
   */
  const paper = { sharpe: 2.5 / Math.sqrt(250), skewness: -3, kurtosis: 10, observations: 1250 };
  const variance = 1 / 2 / 250;

  test('is 0.9004 in the worked example with 100 trials, whose threshold is 0.1132', () => {
    const threshold = computeExpectedMaximumSharpe({ trials: 100, variance });
    expectClose(threshold, 0.1132, 5e-5);
    expectClose(computeProbabilisticSharpe(paper, threshold)!, 0.9004, 5e-5);
  });

  test('is 0.9505 there with 46 trials', () => {
    expectClose(
      computeProbabilisticSharpe(paper, computeExpectedMaximumSharpe({ trials: 46, variance }))!,
      0.9505,
      5e-5,
    );
  });

  test('falls as trials are added', () => {
    const values = [1, 2, 10, 100, 1000].map((trials) =>
      computeProbabilisticSharpe(paper, computeExpectedMaximumSharpe({ trials, variance }))!,
    );
    expect(values).toEqual(values.toSorted((a, b) => b - a));
  });

  test('moments agree with the definition', () => {
    golden.moments.forEach(({ sharpe, skewness, kurtosis }, n) => {
      const sample = createSharpeSample(Float64Array.from(golden.returns, (row) => row[n]!));
      expectClose(sample.sharpe, sharpe);
      expectClose(sample.skewness, skewness);
      expectClose(sample.kurtosis, kurtosis);
    });
  });

  test('without a deviation the statistics are unknown', () => {
    expect(createSharpeSample(new Float64Array(10))).toEqual({ sharpe: 0, skewness: 0, kurtosis: 3, observations: 10 });
    expect(computeProbabilisticSharpe({ sharpe: 1, skewness: 0, kurtosis: 3, observations: 1 }, 0)).toBeNull();
  });
});

describe('the probability of backtest overfitting', () => {
  const returns = transposeRows(golden.returns);
  const shape = { returns, variants: golden.returns[0]!.length, observations: golden.returns.length };

  test.each(golden.cscv)('is that of an independent calculation with $partitions blocks', (expected) => {
    const result = estimateOverfitting({ ...shape, partitions: expected.partitions })!;
    expect([result.combinations, result.observations, result.partitions]).toEqual([
      expected.combinations,
      expected.observations,
      expected.partitions,
    ]);
    expectClose(result.probability, expected.probability);
    expectClose(result.probabilityOfLoss, expected.probability_of_loss);
    expectClose(result.medianLogit, expected.median_logit);
  });

  test('is 0 where one variant is best in every block', () => {
    const rows = Array.from({ length: 16 }, (_, t) =>
      [0.001, 0.01, -0.01].map((mean) => mean + (t % 2 === 0 ? 0.0005 : -0.0005)),
    );
    expect(
      estimateOverfitting({ returns: transposeRows(rows), variants: 3, observations: 16, partitions: 4 })!.probability,
    ).toBe(0);
  });

  test('is 1 if the best in one half is the worst in the other', () => {
    const alternateNoise = (t: number): number => (t % 2 === 0 ? 0.0005 : -0.0005);
    const rows = Array.from({ length: 8 }, (_, t) =>
      [t < 4 ? 0.01 : -0.01, t < 4 ? -0.01 : 0.01, 0].map((mean) => mean + alternateNoise(t)),
    );
    const result = estimateOverfitting({ returns: transposeRows(rows), variants: 3, observations: 8, partitions: 2 })!;
    expect([result.probability, result.probabilityOfLoss]).toEqual([1, 1]);
  });

  test('needs two variants and two returns a block', () => {
    expect(estimateOverfitting({ ...shape, variants: 1, partitions: 4 })).toBeUndefined();
    expect(estimateOverfitting({ ...shape, observations: 7, partitions: 4 })).toBeUndefined();
  });

  test('does not depend on the unit of the returns', () => {
    fc.assert(
      fc.property(fc.constantFrom(0.25, 4, 1024), fc.constantFrom(2, 4, 8), (unit, partitions) => {
        const plainEstimate = estimateOverfitting({ ...shape, partitions })!;
        const scaledOverfitting = estimateOverfitting({
          ...shape,
          returns: returns.map((value) => unit * value),
          partitions,
        })!;
        expect(scaledOverfitting).toEqual(plainEstimate);
      }),
    );
  });
});

test('the chance level is the share of the variants at or below the median', () => {
  const random = seeded(7);
  const estimate = (variants: number) =>
    estimateOverfitting({
      returns: Float64Array.from({ length: 40 * variants }, () => random() - 0.5),
      variants,
      observations: 40,
      partitions: 4,
    })!.chanceLevel;
  // The middle variant of an odd number is the median.
  expect([2, 3, 4, 5].map(estimate)).toEqual([1 / 2, 2 / 3, 1 / 2, 3 / 5]);
});

test('a choice is near chance within one standard deviation below the chance level, and overfit above it', () => {
  // The standard deviation of 100 splits is 5 percentage points.
  const rate = (probability: number) => rateOverfitting({ probability, chanceLevel: 0.5, combinations: 100 });
  expect([0.44, 0.46, 0.5, 0.51].map(rate)).toEqual(['better_than_chance', 'near_chance', 'near_chance', 'overfit']);
});
