import { describe, expect, test } from 'vitest';
import { createSharpeSample } from '#domain/studies/overfitting.js';
import type { VariantOutcome } from '#domain/studies/sweep-runs.js';
import { createSweepTable, createVerdict, type SweepTable } from '#domain/studies/sweep-table.js';
import { SweepFolds } from '#domain/studies/sweep.js';
import { seeded } from '../../seeded.js';
import { createOutcomeSource } from './outcome-source.js';

/** Returns the outcome of a run over 81 sessions. Its returns are random around a mean. */
function runOf(seed: number, mean: number): VariantOutcome {
  const random = seeded(seed);
  const level = [100];
  for (let t = 0; t < 80; t++) level.push(level.at(-1)! * (1 + mean + 0.01 * (random() - 0.5)));
  const { sharpe } = createSharpeSample(Float64Array.from(level.slice(1), (value, t) => value / level[t]! - 1));
  const metrics = {
    annualised_return: 0,
    max_drawdown: 0,
    sharpe_ratio: sharpe,
    total_return: 0,
    tracking_difference: 0,
    tracking_error: 0,
    volatility: 0,
  };
  return {
    kind: 'run',
    metrics,
    totalCosts: 0,
    days: Int32Array.from(level, (_, t) => t),
    level: Float64Array.from(level),
  };
}

const RUNS = [runOf(1, 0.001), runOf(2, 0.0005), runOf(3, -0.0005)];
const createTable = (outcomes: readonly VariantOutcome[]): SweepTable =>
  createSweepTable({ outcomes: createOutcomeSource(outcomes), rankBy: 'sharpe_ratio', partitions: 4, folds: null });

/** Returns the outcome of another variant. Its levels are equal. */
const repeatOutcome = (outcome: VariantOutcome): VariantOutcome => structuredClone(outcome);

describe('variants of equal levels', () => {
  const [a, b, c] = RUNS as [VariantOutcome, VariantOutcome, VariantOutcome];
  const onceTable = createTable([a, b, c]);
  const twiceTable = createTable([a, b, repeatOutcome(a), c, repeatOutcome(b), repeatOutcome(a)]);

  test('count as one trial: the significance of the choice counts only different levels', () => {
    expect(twiceTable.selection).toEqual(onceTable.selection);
    expect(onceTable.selection!.trials).toBe(3);
    expect(twiceTable.overfitting).toEqual(onceTable.overfitting);
    expect(new Set(twiceTable.rows.map(({ deflatedSharpe }) => deflatedSharpe))).toEqual(
      new Set(onceTable.rows.map(({ deflatedSharpe }) => deflatedSharpe)),
    );
  });

  test('do not include levels that differ in one bit, nor refused variants', () => {
    const other = repeatOutcome(a) as Extract<VariantOutcome, { kind: 'run' }>;
    other.level[40]! *= 1 + Number.EPSILON;
    const refusal: VariantOutcome = { kind: 'refused', error: { code: 'EMPTY_INDEX', message: '', detail: null } };
    const result = createTable([a, other, refusal, refusal]);
    expect(result.selection!.trials).toBe(2);
    expect(result.identical).toEqual([]);
  });

  test('are listed, and all of them are ranked', () => {
    expect(twiceTable.identical).toEqual([
      [0, 2, 5],
      [1, 4],
    ]);
    expect(twiceTable.rows.map(({ rank }) => rank)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(createVerdict(twiceTable)[0]).toBe(
      'Variants with identical levels count as one trial each: 0, 2 and 5; 1 and 4.',
    );
    expect(onceTable.identical).toEqual([]);
  });

  test('leave no choice if all are equal', () => {
    const singleTable = createTable([a, repeatOutcome(a)]);
    expect(singleTable).toMatchObject({
      selection: { trials: 1, expectedMaximumSharpe: 0 },
      overfitting: null,
      identical: [[0, 1]],
    });
    expect(createVerdict(singleTable).at(-1)).toMatch(
      /^The Sharpe ratio of the first variant exceeds that of one trial without skill with a probability of \d+\.\d% \(deflated Sharpe ratio\)\.$/,
    );
  });
});

describe('the statement about skill', () => {
  const selection = {
    trials: 12,
    sharpeVariance: 1,
    expectedMaximumSharpe: 1,
    best: { sharpe: 1, skewness: 0, kurtosis: 3, observations: 9 },
    deflatedSharpe: 0.893,
  };
  const createOverfitting = (probability: number, chanceLevel = 0.5) => ({
    probability,
    chanceLevel,
    probabilityOfLoss: 0,
    medianLogit: 0,
    combinations: 12_870,
    partitions: 16,
    observations: 100,
  });
  const createSentences = (rest: Partial<SweepTable>) =>
    createVerdict({ rows: [], selection, overfitting: null, folds: null, identical: [], fan: null, ...rest });
  const TESTED =
    'The Sharpe ratio of the first variant exceeds that of the best of 12 trials without skill with a probability of 89.3% (deflated Sharpe ratio)';

  test('states the benchmark of its test', () => {
    expect(createSentences({})).toEqual([`${TESTED}.`]);
    expect(createSentences({ overfitting: createOverfitting(0.5) })).toEqual([
      `${TESTED}.`,
      'In 50.0% of 12,870 splits of the history, the variant that was best in one half ranked no better than the median in the other; a random choice would do so in 50.0%.',
    ]);
  });

  test('is omitted at a probability of overfitting above one half', () => {
    expect(createSentences({ overfitting: createOverfitting(0.772) })).toEqual([
      'In 77.2% of 12,870 splits of the history, the variant that was best in one half ranked no better than the median in the other; a random choice would do so in 50.0%: the first rank here does not predict the future rank.',
    ]);
  });

  test('of three variants, a random choice is no better than the median in two thirds', () => {
    const three = { ...selection, trials: 3 };
    const [, sentence] = createSentences({ selection: three, overfitting: createOverfitting(0.6, 2 / 3) });
    expect(sentence).toMatch(/a random choice would do so in 66\.7%\.$/);
  });

  test('is omitted if nothing ran, or nothing is known', () => {
    expect(createSentences({ selection: null })).toEqual([]);
    expect(createSentences({ selection: { ...selection, deflatedSharpe: null } })).toEqual([]);
  });
});

describe('the statement about a choice by folds', () => {
  const createTableByFolds = (terms: unknown) =>
    createSweepTable({
      outcomes: createOutcomeSource(RUNS),
      rankBy: 'sharpe_ratio',
      partitions: 4,
      folds: SweepFolds.parse(terms),
    });
  const createSentences = (terms: unknown): string => createVerdict(createTableByFolds(terms)).slice(-2).join(' ');
  const computeMean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

  test('compares means over the same splits', () => {
    const { folds } = createTableByFolds({ method: 'combinatorial', groups: 5, embargo: 0 });
    const { choices } = folds as Extract<typeof folds, { kind: 'chosen' }>;
    const [inside, outside] = [choices.map((choice) => choice.inSample), choices.map((choice) => choice.outOfSample)];
    expect(createSentences({ method: 'combinatorial', groups: 5, embargo: 0 })).toContain(
      `the best shows ${computeMean(inside).toFixed(2)} on average in sample and ${computeMean(outside).toFixed(2)} on average out of sample.`,
    );
  });

  test('has the expected and the achieved figure, and how often it loses', () => {
    expect(createSentences({ method: 'combinatorial', groups: 5, embargo: 0 })).toMatch(
      /^Chosen by Sharpe ratio over 10 splits, the best shows -?\d+\.\d\d on average in sample and -?\d+\.\d\d on average out of sample\. Joined to 4 paths, the returns out of sample have a median of -?\d+\.\d\d \(-?\d+\.\d\d to -?\d+\.\d\d from the 5th to the 95th percentile\); \d+\.\d% of the paths lose\.$/,
    );
    expect(createSentences({ method: 'walk_forward', groups: 5, select_by: 'volatility' })).toMatch(
      /^Chosen by volatility over 4 splits, the best shows \d+\.\d% on average in sample and \d+\.\d% on average out of sample\. Joined to one path, the returns out of sample have \d+\.\d%\.$/,
    );
  });

  test('reports that the choice was not tested if the runs are too short, with both numbers', () => {
    // There are 80 returns. In each group, 1 session before a test and 1 + 2 sessions after it are dropped. Two are
    // kept.
    expect(createSentences({ method: 'combinatorial', groups: 16, test_groups: 1, embargo: 2 })).toContain(
      'The choice was not tested by folds: the variants have 80 common returns, but the folds need 96.',
    );
  });
});
