import { beforeAll, describe, expect, test } from 'vitest';
import { requireSandbox } from '#base/sandbox/sandbox.js';
import { parseExpression } from '#domain/datapoints/expression-text.js';
import { loadPluginSandbox, ROW_FUNCTIONS } from '#domain/datapoints/plugin-sandbox.js';
import { readDefinitions, TreatmentSpec } from '#domain/definition/index-document.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import { fc } from '../../fast-check.js';
import { alignDays, createTableMarket } from '../rules/rule-market.js';

beforeAll(() => loadPluginSandbox());

/** Number of values in a row. `COUNT` is the number of rows. */
const LENGTH = 6;
const COUNT = 5;

const cell = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 8, max: 64 }).map((eighths) => eighths / 7) },
  fc.constant(NaN),
);
const values = fc
  .array(cell, { minLength: COUNT * LENGTH, maxLength: COUNT * LENGTH })
  .map((cells) => Float64Array.from(cells));

/**
 * Returns the values of an expression of `rows`. In the expression, `h` is a list of rows.
 * @param count number of values
 */
function evaluateRows(expression: string, h: Float64Array, count = h.length): Float64Array {
  const source = `function compute({ h, n }) { return ${expression}; }`;
  const inputs = [
    { name: 'h', sessions: h.length / count },
    { name: 'n', sessions: 1 },
  ];
  return requireSandbox().compute({ source, parameters: {}, inputs }, [h, new Float64Array(count)], count);
}

const listRows = (h: Float64Array): number[][] =>
  Array.from({ length: COUNT }, (_, k) => [...h.subarray(k * LENGTH, (k + 1) * LENGTH)]);

const expectClose = (got: Float64Array, expected: readonly number[]): void => {
  expect(got).toHaveLength(expected.length);
  expected.forEach((value, i) =>
    Number.isNaN(value) ? expect(got[i]).toBeNaN() : expect(got[i]).toBeCloseTo(value, 10),
  );
};

describe('functions that expressions have, too', () => {
  const DECISION = 9;
  const COLUMNS = Int32Array.from({ length: COUNT }, (_, k) => k);

  test.each(['mean', 'median', 'std', 'sum', 'min', 'max', 'count', 'slope', 'first', 'last'])(
    '%s has their bits',
    (name) => {
      const closes = fc.array(fc.array(cell, { minLength: COUNT, maxLength: COUNT }), {
        minLength: DECISION + 1,
        maxLength: DECISION + 1,
      });
      fc.assert(
        fc.property(closes, (rows) => {
          const identifiers = Array.from(COLUMNS, (k) => `N${k}`);
          const knownRows = rows.map((row) => row.map((value) => (Number.isNaN(value) ? null : value)));
          const market = alignDays(createTableMarket({ identifiers, fields: { CLOSE: knownRows } }));
          const terms = {
            market,
            treatment: TreatmentSpec.parse({}),
            currency: 'USD',
            datapoints: readDefinitions({}),
          };
          const section = createIndexCrossSections(terms).at(DECISION, COLUMNS);
          const expected = section.numbers(parseExpression(`${name}(CLOSE, window=${LENGTH})`).tree, COLUMNS);
          const h = Float64Array.from(
            [...COLUMNS].flatMap((k) => rows.slice(DECISION - LENGTH + 1).map((row) => row[k]!)),
          );
          expect(evaluateRows(`rows.${name}(h, ${LENGTH}, ${LENGTH / 2})`, h, COUNT)).toEqual(expected);
        }),
        { numRuns: 30 },
      );
    },
  );
});

describe('functions of pairs, runs and shapes agree with plain code', () => {
  const selectPairs = (a: readonly number[], b: readonly number[]): [number, number][] =>
    a.map((value, t): [number, number] => [value, b[t]!]).filter(([x, y]) => x === x && y === y);
  const computeCovariance = (pairs: readonly (readonly [number, number])[], i: 0 | 1, j: 0 | 1): number => {
    const computeMean = (k: 0 | 1): number => pairs.reduce((sum, p) => sum + p[k], 0) / pairs.length;
    return pairs.reduce((sum, p) => sum + (p[i] - computeMean(i)) * (p[j] - computeMean(j)), 0);
  };

  test('dot, beta and correlation, with one row for all', () => {
    fc.assert(
      fc.property(values, values, (h, otherValues) => {
        const [market] = listRows(otherValues);
        const text = `[${market!.map((v) => (v === v ? v : 'NaN')).join(',')}]`;
        const pairs = listRows(h).map((row) => selectPairs(row, market!));
        const isFlat = (p: readonly (readonly [number, number])[], k: 0 | 1): boolean =>
          p.length < 2 || p.every((pair) => pair[k] === p[0]![k]);
        expectClose(
          evaluateRows(`rows.dot(h, ${text}, ${LENGTH})`, h, COUNT),
          pairs.map((p) => (p.length === 0 ? NaN : p.reduce((sum, [a, b]) => sum + a * b, 0))),
        );
        expectClose(
          evaluateRows(`rows.beta(h, ${text}, ${LENGTH})`, h, COUNT),
          pairs.map((p) => (isFlat(p, 1) ? NaN : computeCovariance(p, 0, 1) / computeCovariance(p, 1, 1))),
        );
        expectClose(
          evaluateRows(`rows.correlation(h, ${text}, ${LENGTH})`, h, COUNT),
          pairs.map((p) =>
            isFlat(p, 0) || isFlat(p, 1)
              ? NaN
              : computeCovariance(p, 0, 1) / Math.sqrt(computeCovariance(p, 0, 0) * computeCovariance(p, 1, 1)),
          ),
        );
      }),
      { numRuns: 60 },
    );
  });

  test('running values and smoothed means', () => {
    const h = Float64Array.of(2, NaN, 1, 3, 5, 4);
    expectClose(evaluateRows('rows.runningSum(h, 3)', h), [2, NaN, 3, 3, 8, 12]);
    expectClose(evaluateRows('rows.runningProduct(h, 3)', h), [2, NaN, 2, 3, 15, 60]);
    expectClose(evaluateRows('rows.runningMax(h, 3)', h), [2, NaN, 2, 3, 5, 5]);
    expectClose(evaluateRows('rows.smooth(h, 1, 3)', h), [
      2,
      2,
      (1 + 2 / 4) / (1 + 1 / 4),
      3,
      6.5 / 1.5,
      (4 + 2.5 + 0.75) / 1.75,
    ]);
  });

  test('shapes, arithmetic and ranks', () => {
    const h = Float64Array.of(1, 2, 3, 4, 5, 6);
    expectClose(evaluateRows('rows.transpose(h, 3)', h), [1, 4, 2, 5, 3, 6]);
    expectClose(evaluateRows('rows.cut(rows.repeat(h, 2), 4, 1, 3)', h), [1, 2, 3, 4, 5, 6]);
    expectClose(evaluateRows('rows.subtract(h, rows.repeat(rows.mean(h, 3), 3))', h), [-1, 0, 1, -1, 0, 1]);
    expectClose(evaluateRows('rows.add(h, [1, 2, 3])', h), [2, 4, 6, 5, 7, 9]);
    expectClose(evaluateRows('rows.multiply(rows.divide(h, 2), 4)', h), [2, 4, 6, 8, 10, 12]);
    expectClose(evaluateRows('rows.rank(h, 3)', h), [3, 2, 1, 3, 2, 1]);
    expectClose(evaluateRows('rows.percentile(h)', h), [0, 0.2, 0.4, 0.6, 0.8, 1]);
    expectClose(evaluateRows('rows.demean(h, 2)', h), [-0.5, 0.5, -0.5, 0.5, -0.5, 0.5]);
    expectClose(evaluateRows('rows.share(h, 3)', h), [1 / 6, 2 / 6, 3 / 6, 4 / 15, 5 / 15, 6 / 15]);
    expectClose(evaluateRows('rows.zscore(h, 2)', h), [-1, 1, -1, 1, -1, 1]);
  });

  test('results are new lists: parts of lists and lists of the script are read, none is written', () => {
    const h = Float64Array.of(1, 2, 3, 4);
    expectClose(
      evaluateRows('(rows.multiply(h, 5), rows.add(h.subarray(1, 3), [10, 20]).fill(7), h)', h),
      [1, 2, 3, 4],
    );
    expectClose(evaluateRows('[...rows.add(h.subarray(1, 3), [10, 20]), ...rows.sum([1, 2]), 0]', h), [12, 23, 3, 0]);
  });
});

describe('wrong arguments', () => {
  test.each([
    ['rows.mean(h, 4)', 'rows.mean: 6 values are not rows of 4'],
    ['rows.mean(h, 0)', 'rows.mean: length is 0; a whole number of at least 1 is needed'],
    ['rows.mean(h, 3, 0.5)', 'rows.mean: least is 0.5; a whole number of at least 1 is needed'],
    ['rows.mean()', 'rows.mean: a list is missing'],
    ['rows.beta(h, [1, 2], 3)', 'rows.beta: the second list has 2 values; 6 are needed, or one row of 3'],
    ['rows.add(h, [1, 2, 3, 4])', 'rows.add: the second list has 4 values, which do not divide 6'],
    ['rows.cut(h, 3, 2, 9)', 'rows.cut: to is 9; a whole number from 1 to 3 is needed'],
    ['rows.cut(h, 3, 2, 2)', 'rows.cut: from is 2; a whole number from 0 to 1 is needed'],
    ['rows.smooth(h, -1)', 'rows.smooth: halfLife is -1; a positive number is needed'],
    ['rows.repeat(h)', 'rows.repeat: times is undefined; a whole number of at least 1 is needed'],
  ])('%s: %s', (text, message) => {
    expect(() => evaluateRows(text, Float64Array.of(1, 2, 3, 4, 5, 6))).toThrow(`threw TypeError: ${message}`);
  });
});

test('each function is documented, and its declared parameters are its own', () => {
  for (const { name, help, parameters, lists } of ROW_FUNCTIONS) {
    expect(help, name).toMatch(/^[A-Z0-9].*\.$/);
    expect(parameters.length, name).toBeGreaterThanOrEqual(lists);
  }
  expect(new Set(ROW_FUNCTIONS.map(({ name }) => name)).size).toBe(ROW_FUNCTIONS.length);
});
