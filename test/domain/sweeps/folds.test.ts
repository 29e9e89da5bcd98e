import { readFileSync } from 'node:fs';
import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import {
  type ChoiceByFolds,
  chooseByFolds,
  computeMetric,
  createEmptyStretch,
  createSplits,
  createStretch,
  joinStretch,
} from '#domain/studies/folds.js';
import { computeBinomial, SweepFolds } from '#domain/studies/sweep.js';

interface GoldenFolds {
  readonly returns: number[][];
  readonly cases: readonly {
    readonly terms: SweepFolds;
    readonly observations: number;
    readonly choices: readonly (Record<'inSample' | 'outOfSample' | 'trial' | 'rank', number> &
      Record<'train' | 'test', number[]>)[];
    readonly paths: readonly Record<string, number>[];
    readonly sharpe: { readonly mean: number; readonly percentiles: readonly number[] };
    readonly loss: number;
  }[];
}
const golden = JSON.parse(readFileSync('test/golden/folds/folds.json', 'utf8')) as GoldenFolds;

const TRIALS = golden.returns[0]!.length;
const DAYS = Int32Array.from({ length: golden.returns.length + 1 }, (_, t) => t + 2 * Math.floor(t / 5));
const RETURNS = Float64Array.from(
  Array.from({ length: TRIALS }, (_, n) => golden.returns.map((row) => row[n]!)).flat(),
);

function expectClose(actual: number, expected: number): void {
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(1e-11 * Math.max(1, Math.abs(expected)));
}

function requireChoice(terms: unknown, returns = RETURNS, trials = TRIALS): ChoiceByFolds {
  const folds = SweepFolds.parse(terms);
  const result = chooseByFolds({ returns, trials, days: DAYS.subarray(0, returns.length / trials + 1), folds });
  if (result.kind === 'short') throw new Error(`${result.observations} of ${result.needed}`);
  return result;
}

describe('a choice by folds', () => {
  test.each(golden.cases)('equals that of numpy, session by session: $terms', (expected) => {
    const result = requireChoice(expected.terms);
    expect(result.observations).toBe(expected.observations);
    expect(result.choices.map(({ train, test, trial, rank }) => ({ train, test, trial, rank }))).toEqual(
      expected.choices.map(({ train, test, trial, rank }) => ({ train, test, trial, rank })),
    );
    result.choices.forEach(({ inSample, outOfSample }, i) => {
      expectClose(inSample, expected.choices[i]!.inSample);
      expectClose(outOfSample, expected.choices[i]!.outOfSample);
    });
    expect(result.paths).toHaveLength(expected.paths.length);
    result.paths.forEach((path, i) => {
      for (const [metric, value] of Object.entries(path)) expectClose(value, expected.paths[i]![metric]!);
    });
    expectClose(result.overPaths.sharpe_ratio.mean, expected.sharpe.mean);
    Object.values(result.overPaths.sharpe_ratio.percentiles).forEach((value, i) =>
      expectClose(value, expected.sharpe.percentiles[i]!),
    );
    expect(result.probabilityOfLoss).toBe(expected.loss);
  });

  test('of one trial is that trial: every path has its metrics', () => {
    const shortReturns = RETURNS.subarray(0, 130);
    const result = requireChoice({ method: 'combinatorial', groups: 5 }, shortReturns, 1);
    const wholeStretch = createStretch(shortReturns, { from: 0, to: 130, mean: 0 });
    for (const path of result.paths) {
      expectClose(path.total_return, wholeStretch.growth - 1);
      expectClose(path.max_drawdown, wholeStretch.drawdown);
      expectClose(path.sharpe_ratio, computeMetric(wholeStretch, { mean: 0, metric: 'sharpe_ratio', periods: 252 }));
    }
    expect(new Set(result.choices.map(({ rank }) => rank))).toEqual(new Set([1]));
  });

  test('reads neither its test data nor the embargoed days next to them', () => {
    const terms = { method: 'combinatorial', groups: 6, test_groups: 2, purge: 2, embargo: 3 };
    const before = requireChoice(terms);
    const offset = DAYS.length - 1 - before.observations;
    const length = before.observations / 6;
    before.choices.forEach((choice, i) => {
      const changedReturns = RETURNS.slice();
      for (const group of choice.test)
        for (let t = group * length - 2; t < (group + 1) * length + 5; t++)
          for (let n = 0; n < TRIALS; n++) {
            const row = offset + t;
            if (row >= 0 && row < DAYS.length - 1) changedReturns[n * (DAYS.length - 1) + row] = n === 0 ? 0.05 : -0.05;
          }
      const after = requireChoice(terms, changedReturns).choices[i]!;
      expect(after.trial).toBe(choice.trial);
      expectClose(after.inSample, choice.inSample);
    });
  });

  test('needs groups longer than the embargo, and a refusal states by how much', () => {
    const folds = SweepFolds.parse({ method: 'combinatorial', groups: 10, purge: 3, embargo: 6 });
    // In each group, 3 sessions before a test and 9 after it are dropped. Two are kept.
    expect(chooseByFolds({ returns: RETURNS, trials: TRIALS, days: DAYS, folds })).toEqual({
      kind: 'short',
      observations: 131,
      needed: 140,
    });
  });
});

test('the paths of all choices test each group once, and every split as often as it has test groups', () => {
  for (let groups = 2; groups <= 8; groups++)
    for (let count = 1; count < groups; count++) {
      const { splits, paths } = createSplits(SweepFolds.parse({ method: 'combinatorial', groups, test_groups: count }));
      expect(splits).toHaveLength(computeBinomial(groups, count));
      expect(paths).toHaveLength((count * splits.length) / groups);
      const usedCounts = new Map<number, number>();
      for (const path of paths)
        path.forEach((split, group) => {
          expect(splits[split]!.test & (1 << group)).not.toBe(0);
          usedCounts.set(split, (usedCounts.get(split) ?? 0) + 1);
        });
      expect([...usedCounts.values()]).toEqual(splits.map(() => count));
    }
});

test('figures of segments combine to those of the whole', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: -0.5, max: 0.5, noNaN: true }), { minLength: 3, maxLength: 40 }),
      fc.nat(40),
      (values, cut) => {
        const returns = Float64Array.from(values);
        const middle = Math.min(cut, returns.length);
        const stretch = createEmptyStretch();
        joinStretch(stretch, createStretch(returns, { from: 0, to: middle, mean: 0.01 }));
        joinStretch(stretch, createStretch(returns, { from: middle, to: returns.length, mean: 0.01 }));
        const wholeStretch = createStretch(returns, { from: 0, to: returns.length, mean: 0.01 });
        for (const [name, value] of Object.entries(wholeStretch))
          expectClose(stretch[name as keyof typeof stretch], value);
      },
    ),
  );
});

test.each([
  [{ groups: 4, test_groups: 4 }, '4 of 4 groups leave no sample'],
  [{ groups: 16, test_groups: 8 }, '8 of 16 groups make 12870 splits; the maximum is 1000'],
])('terms that cannot be met are refused with both numbers: %o', (terms, sentence) => {
  const { error } = SweepFolds.safeParse({ method: 'combinatorial', ...terms });
  expect(error?.issues.map(({ path, message }) => [path, message])).toEqual([
    [['test_groups'], expect.stringContaining(sentence)],
  ]);
});
