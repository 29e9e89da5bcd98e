import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createDenseMetric } from '#kernels/optimisation/program/metric.js';
import { CONSTRAINT_CLASSES } from '#domain/definition/constraints.js';
import { ConstraintRow } from '#domain/definition/constraint-class.js';
import { explainChoice, explainInfeasibility, type Infeasibility } from '#domain/optimisation/infeasibility.js';
import { createProblem } from '#domain/optimisation/problem.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { seeded } from '../../seeded.js';
import { IS_SOAK } from '../../soak.js';
import { INFEASIBLE_CASES, createRow, type Row } from './infeasible-cases.js';
import { buildProblem, solvers } from './small-problems.js';

/** Parameters that do not limit a measure but define it, and parameters that every class has. */
const NO_LIMITS = new Set([
  'window',
  'confidence',
  'scenarios',
  'draws',
  'block',
  'degrees_of_freedom',
  'seed',
  'soft',
  'priority',
  'small_group',
]);

function listNumbers({ params }: { readonly params: z.ZodObject }): string[] {
  const { properties } = z.toJSONSchema(params, { io: 'input' }) as { properties: Record<string, object> };
  return Object.entries(properties).flatMap(([name, schema]) =>
    !NO_LIMITS.has(name) && /"type":"?\[?"?(number|integer)/.test(JSON.stringify(schema)) && name !== 'coefficients'
      ? [name]
      : [],
  );
}

/** Number of random cases per convex row class. */
const TRIALS = IS_SOAK ? 6 : 1;

interface Trial {
  readonly names: number;
  readonly seed: number;
}

const createTrialProblem = (rows: readonly Row[], trial: Trial) => buildProblem({ ...trial, rows, hasPrevious: true });
const isFeasible = (rows: readonly Row[], trial: Trial) =>
  solveProblem(solvers, createTrialProblem(rows, trial), { wanted: 'any' }).kind === 'solved';
const addParameter = (rows: readonly Row[], index: number | null, parameter: string, to: number): Row[] =>
  rows.map((each, i) => (i === index ? { ...each, params: { ...each.params, [parameter]: to } } : each));

function explainRows(rows: readonly Row[], trial: Trial): Infeasibility | undefined {
  const problem = createTrialProblem(rows, trial);
  const outcome = solveProblem(solvers, problem);
  if (outcome.kind === 'solved') return undefined;
  return outcome.kind === 'no-choice'
    ? explainChoice(solvers, problem, outcome.isProven)
    : explainInfeasibility(solvers, problem);
}

describe('relaxations of every class', () => {
  test('every number of every class that limits something has a case', () => {
    const expected = Object.fromEntries(
      CONSTRAINT_CLASSES.map((entry) => [entry.type, listNumbers(entry)] as const).filter(
        ([, names]) => names.length > 0,
      ),
    );
    expect(
      Object.fromEntries(
        Object.entries(INFEASIBLE_CASES).map(([type, parameters]) => [
          type,
          Object.keys(parameters)
            .flatMap((names) => names.split(' '))
            .toSorted(),
        ]),
      ),
    ).toEqual(Object.fromEntries(Object.entries(expected).map(([type, names]) => [type, names.toSorted()])));
  });

  // Both concentration rules use the same search. `relax-by-priority.test.ts` relaxes the rule of RICs. This test
  // includes it only in the soak.
  const triedCases = Object.entries(INFEASIBLE_CASES).filter(([type]) => IS_SOAK || type !== 'ConcentrationRIC');
  const all = triedCases.flatMap(([type, parameters]) =>
    Object.entries(parameters).flatMap(([parameter, cases]) => cases.map((each, i) => ({ type, parameter, each, i }))),
  );
  test.each(all)(
    '$type is relaxed by $parameter ($i): the change is offered and sufficient, and a smaller one is not',
    ({ type, parameter, each: { rows: draw, names = 12 }, i }) => {
      const random = seeded(1000 + i);
      const trials = draw(random).some((each) =>
        CONSTRAINT_CLASSES.some((entry) => entry.type === each.type && !entry.convex),
      )
        ? 1
        : TRIALS;
      for (let trial = 0; trial < trials; trial++) {
        const market = { names, seed: trial + 1 };
        const rows = draw(random);
        const detail = explainRows(rows, market);
        const description = `${type} ${parameter} ${trial} ${JSON.stringify(rows)}`;
        expect(detail, description).toBeDefined();
        expect(
          detail!.relaxations.map(({ index, parameter: moved }) => `${index} ${moved}`),
          description,
        ).toEqual(expect.arrayContaining(parameter.split(' ').map((name) => `0 ${name}`)));
        for (const { index, parameter: moved, from, to } of detail!.relaxations) {
          expect(
            isFeasible(addParameter(rows, index, moved, to), market),
            `${description}: ${moved} of ${index} to ${to}`,
          ).toBe(true);
          const isWhole =
            Number.isInteger(from) &&
            Number.isInteger(to) &&
            ['minimum', 'maximum'].includes(moved) &&
            type !== 'EffectiveNumber';
          const smallerValue = isWhole ? to - Math.sign(to - from) : from + 0.99 * (to - from);
          expect(
            isFeasible(addParameter(rows, index, moved, smallerValue), market),
            `${description}: ${moved} of ${index} only to ${smallerValue}, not ${to}`,
          ).toBe(false);
        }
      }
    },
  );
});

/**
 * Returns a problem with these rows. Its securities are uncorrelated and have equal weight and variance. Every numeric
 * datapoint has the given values.
 */
function relaxCarbonRows(rows: readonly Row[], values = [10, 20]) {
  const n = values.length;
  const matrix = Float64Array.from({ length: n * n }, (_, k) => (k % (n + 1) === 0 ? 0.04 : 0));
  return createProblem({
    identifiers: ['CLEAN', 'DIRTY', 'UNKNOWN'].slice(0, n),
    index: new Float64Array(n).fill(1 / n),
    previous: null,
    metric: createDenseMetric(matrix, n),
    rows: rows.map((each) => ConstraintRow.parse(each)),
    datapoints: {
      numbers: () => Float64Array.from(values),
      categories: () => values.map(() => null),
      medianValueTraded: () => new Float64Array(n),
    },
  });
}

describe('a weighted average that nothing reaches', () => {
  const explainAverage = (params: object, values?: number[], ...otherRows: Row[]) =>
    explainInfeasibility(
      { ...solvers, algebra: plainAlgebra },
      relaxCarbonRows([createRow('WeightedAverage', { field: 'CARBON', ...params }), ...otherRows], values),
    )!.relaxations;

  test('of ten and twenty, an upper bound of five is relaxed to ten and a lower one of thirty to twenty', () => {
    expect(explainAverage({ upper: 5 })).toMatchObject([
      { index: 0, type: 'WeightedAverage', parameter: 'upper', from: 5, to: 10, change: 5 },
    ]);
    expect(explainAverage({ lower: 30 })).toMatchObject([
      { index: 0, parameter: 'lower', from: 30, to: 20, change: -10 },
    ]);
  });

  test('a multiple of the index average of fifteen is relaxed to two thirds', () => {
    expect(explainAverage({ upper: 0.5, relative: true })).toMatchObject([{ parameter: 'upper', from: 0.5 }]);
    expect(explainAverage({ upper: 0.5, relative: true })[0]!.to).toBeCloseTo(2 / 3, 8);
    expect(explainAverage({ lower: 2, relative: true })[0]!.to).toBeCloseTo(4 / 3, 8);
  });

  test('a multiple of a negative average is relaxed downward', () => {
    // The average of -10 and -20 is -15. Its double, -30, is not possible as an average. So it is relaxed to -20, a
    // factor of 4/3.
    expect(explainAverage({ upper: 2, relative: true }, [-10, -20])[0]).toMatchObject({ parameter: 'upper', from: 2 });
    expect(explainAverage({ upper: 2, relative: true }, [-10, -20])[0]!.to).toBeCloseTo(4 / 3, 8);
  });

  test('a security without a value counts as zero, or is left out of the average', () => {
    // With at most a third in each security, 0, 10 and 20 average 10. Without the security whose value is unknown, the
    // average is 15.
    const third = createRow('PositionBounds', { upper: 1 / 3 });
    const explainMissing = (missing: string) =>
      explainAverage({ upper: 5, missing }, [10, 20, Number.NaN], third).find(({ index }) => index === 0)!.to;
    expect(explainMissing('zero')).toBeCloseTo(10, 7);
    expect(explainMissing('renormalise')).toBeCloseTo(15, 7);
  });
});
