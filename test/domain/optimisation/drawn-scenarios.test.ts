import { describe, expect, test } from 'vitest';
import { gemm } from '#kernels/algebra/products.js';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import type { ScenarioTerms } from '#domain/definition/tail-risk.js';
import { assertDrawsFit, drawScenarios } from '#domain/optimisation/decision-problem.js';
import { Refusal } from '#domain/base/refusals.js';
import { seeded } from '../../seeded.js';

const NAMES = 3;
const SESSIONS = 40;
const COVARIANCE = Float64Array.of(0.04, 0.01, 0, 0.01, 0.09, -0.02, 0, -0.02, 0.0225);
const random = seeded(3);
const history = Float64Array.from({ length: NAMES * SESSIONS }, () => 0.02 * (random() - 0.5));

/** Returns a set of scenarios with a randomly drawn history. Also returns the list of requests for this history. */
function createScenarios(expectedReturns: Float64Array | null = null) {
  const requests: (number | null)[] = [];
  const drawReturns = drawScenarios({
    algebra: { gemm },
    expectedReturns,
    risk: {
      periods: 252,
      metric: createDenseMetric(COVARIANCE, NAMES),
      means: () => Float64Array.of(0.1, 0.2, 0.3),
      scenarios: (sessions) => {
        requests.push(sessions);
        // The code under test does not read the coverage.
        return { returns: history, counts: null, coverage: { excluded: new Map(), observations: SESSIONS } as never };
      },
    },
  });
  return { drawReturns: (terms: ScenarioTerms) => drawReturns(terms).returns, requests };
}

const createTerms = (source: 'bootstrap' | 'normal' | 'student', more: object = {}): ScenarioTerms => ({
  sessions: null,
  drawn: { source, draws: 60_000, block: 7, degrees: 5, seed: 1, ...more },
});

/** Computes the annualised means and covariances of rows. */
function computeMoments(returns: Float64Array) {
  const rows = returns.length / NAMES;
  const computeMean = (valueAt: (t: number) => number) =>
    Array.from({ length: rows }, (_, t) => valueAt(t)).reduce((a, b) => a + b) / rows;
  const means = [0, 1, 2].map((i) => computeMean((t) => returns[t * NAMES + i]!));
  const covariance = [0, 1, 2].flatMap((i) =>
    [0, 1, 2].map(
      (j) => 252 * computeMean((t) => (returns[t * NAMES + i]! - means[i]!) * (returns[t * NAMES + j]! - means[j]!)),
    ),
  );
  return { means: means.map((value) => 252 * value), covariance };
}

describe('simulated scenarios', () => {
  test.each(['normal', 'student'] as const)(
    'of a %s distribution have the requested covariance and means',
    (source) => {
      for (const [expected, means] of [
        [null, [0.1, 0.2, 0.3]],
        [Float64Array.of(-0.5, 0, 1), [-0.5, 0, 1]],
      ] as const) {
        const drawnMoments = computeMoments(createScenarios(expected).drawReturns(createTerms(source)));
        // The standard errors are 252 * root(0.09 / 252 / 60000) = 0.02 for a mean and 0.09 * root(8 / 60000) = 0.001
        // for a variance. The latter assumes Student's distribution with 5 degrees of freedom.
        drawnMoments.means.forEach((value, i) => expect(Math.abs(value - means[i]!)).toBeLessThan(0.08));
        drawnMoments.covariance.forEach((value, e) => expect(Math.abs(value - COVARIANCE[e]!)).toBeLessThan(0.006));
      }
    },
  );

  test("of Student's distribution have the kurtosis of its degrees of freedom: 3.75 of 12", () => {
    const computeKurtosis = (returns: Float64Array) => {
      const deviations = Float64Array.from(
        { length: returns.length / NAMES },
        (_, t) => returns[t * NAMES]! - 0.1 / 252,
      );
      const computePower = (p: number) => deviations.reduce((sum, value) => sum + value ** p, 0) / deviations.length;
      return computePower(4) / computePower(2) ** 2;
    };
    const { drawReturns } = createScenarios();
    expect(computeKurtosis(drawReturns(createTerms('normal')))).toBeCloseTo(3, 0);
    expect(computeKurtosis(drawReturns(createTerms('normal')))).toBeLessThan(3.2);
    const fat = computeKurtosis(drawReturns(createTerms('student', { degrees: 12 })));
    expect(Math.abs(fat - 3.75)).toBeLessThan(0.35);
  });

  test('of a bootstrap are rows of the history in blocks, each row about as often as the ends of blocks allow', () => {
    const drawnScenarios = createScenarios().drawReturns(createTerms('bootstrap', { draws: 7000, block: 7 }));
    const formatKey = (values: Float64Array, t: number) => values.subarray(t * NAMES, t * NAMES + NAMES).join(' ');
    const place = new Map(Array.from({ length: SESSIONS }, (_, t) => [formatKey(history, t), t]));
    const places = Array.from({ length: 7000 }, (_, t) => place.get(formatKey(drawnScenarios, t))!);
    expect(places).not.toContain(undefined);
    places.forEach((at, t) => {
      if (t % 7 !== 0) expect(at).toBe(places[t - 1]! + 1);
    });
    // Of 34 blocks, 7 contain the middle row and one contains the first row.
    const middle = places.filter((at) => at === 20).length / 7000;
    expect(Math.abs(middle - 1 / 34)).toBeLessThan(0.008);
    expect(new Set(places.filter((_, t) => t % 7 === 0)).size).toBe(34);
  });

  test('are those of their seed, made once, and historical ones are the history itself', () => {
    const { drawReturns, requests } = createScenarios();
    const first = drawReturns(createTerms('student'));
    expect(drawReturns(createTerms('student'))).toBe(first);
    expect(createScenarios().drawReturns(createTerms('student'))).toEqual(first);
    expect(drawReturns(createTerms('student', { seed: 2 }))).not.toEqual(first);
    // If fewer draws are requested, they are the first rows of more draws.
    const fewScenarios = drawReturns(createTerms('student', { draws: 100 }));
    fewScenarios.forEach((value, e) => expect(value).toBeCloseTo(first[e]!, 15));
    expect(requests).toEqual([]);
    expect(drawReturns({ sessions: 20, drawn: null })).toBe(history);
    expect(requests).toEqual([20]);
  });

  test('that do not fit into memory are refused with the possible number, at their parameter', () => {
    const ask = (path: string, params: object, rowId: string | null = null) => ({
      path,
      rowId,
      params: { ...params },
    });
    const draws = 20_000_000;
    const fits = [
      ask('objective', { risk_aversion: 4 }),
      ask('constraints[0].params', { draws, source: 'historical' }),
      ask('constraints[1].params', { draws: 16_666_666, source: 'normal' }),
    ];
    assertDrawsFit(NAMES, fits);
    const message = '20000000 scenarios of 3 securities need too much memory; the maximum is 16666666.';
    const path = 'constraints[2].params.draws';
    const finding = { severity: 'error', code: 'OUT_OF_RANGE', path, row_id: 'worst', message, value: draws };
    expect(() =>
      assertDrawsFit(NAMES, [...fits, ask('constraints[2].params', { draws, source: 'student' }, 'worst')]),
    ).toThrow(new Refusal('VALIDATION_FAILED', message, { findings: [finding] }));
  });
});
