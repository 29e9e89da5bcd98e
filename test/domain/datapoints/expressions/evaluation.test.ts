import { describe, expect, test } from 'vitest';
import { TreatmentSpec } from '#domain/definition/index-document.js';
import { parseExpression, printExpression } from '#domain/datapoints/expression-text.js';
import type { ExpressionNode } from '#domain/datapoints/expression-tree.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import { alignDays, createTableMarket } from '../../rules/rule-market.js';
import { fc } from '../../../fast-check.js';
import { createCondition, createExpressions, NUMBERS, TEXTS } from './arbitrary-trees.js';
import { interpretExpression, evaluateTruth, type Tables } from './plain-interpreter.js';

const SESSIONS = 14;
const NAMES = 9;
/** Row of the decision. The market continues after it, but an evaluation must not read later rows. */
const DECISION = 10;

const cell = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: -32, max: 32 }).map((eighths) => eighths / 8) },
  fc.constant(NaN),
);
const rows = fc.array(fc.array(cell, { minLength: NAMES, maxLength: NAMES }), {
  minLength: SESSIONS,
  maxLength: SESSIONS,
});
const closes = fc.array(
  fc.array(
    fc.integer({ min: 8, max: 80 }).map((eighths) => eighths / 8),
    { minLength: NAMES, maxLength: NAMES },
  ),
  { minLength: SESSIONS, maxLength: SESSIONS },
);
const groups = fc.array(fc.constantFrom('x', 'y', null), { minLength: NAMES, maxLength: NAMES });
const tables: fc.Arbitrary<Tables> = fc.record({
  numbers: fc.record({ CLOSE: closes, A: rows, B: rows, C: rows }),
  texts: fc.record({ SECTOR: groups, COUNTRY: groups }),
});

const SELECTION = [0, 2, 3, 5, 6, 8];

function createSection({ numbers, texts }: Tables, datapoints: Record<string, string> = {}) {
  const toNull = (table: readonly (readonly number[])[]) =>
    table.map((row) => row.map((value) => (Number.isNaN(value) ? null : value)));
  const market = alignDays(
    createTableMarket({
      identifiers: Array.from({ length: NAMES }, (_, i) => `N${i}`),
      fields: Object.fromEntries(NUMBERS.map((name) => [name, toNull(numbers[name]!)])),
      reference: Object.fromEntries(TEXTS.map((name) => [name, [...texts[name]!]])),
    }),
  );
  const sections = createIndexCrossSections({
    market,
    treatment: TreatmentSpec.parse({}),
    currency: 'USD',
    datapoints: new Map(Object.entries(datapoints).map(([name, text]) => [name, parseExpression(text).tree])),
  });
  return sections.at(
    DECISION,
    Int32Array.from({ length: NAMES }, (_, i) => i),
  );
}

const request = { session: DECISION, selection: SELECTION, universe: Array.from({ length: NAMES }, (_, i) => i) };

describe('against a plain interpreter', () => {
  test('every number is what the definitions give', () => {
    fc.assert(
      fc.property(tables, createExpressions(), (table, tree) => {
        const result = createSection(table).numbers(tree, Int32Array.from(SELECTION));
        SELECTION.forEach((security, i) => {
          const expected = interpretExpression(tree, table, { ...request, security });
          const context = `${printExpression(tree)} of ${security}`;
          if (!Number.isFinite(expected)) expect([context, result[i]]).toEqual([context, NaN]);
          else
            expect(Math.abs(result[i]! - expected), context).toBeLessThanOrEqual(
              1e-9 * Math.max(1, Math.abs(expected)),
            );
        });
      }),
      { numRuns: 300 },
    );
  });

  test('every condition is true, false or unknown by its definition', () => {
    fc.assert(
      fc.property(
        tables,
        createCondition(
          fc.constantFrom<ExpressionNode>({ node: 'field', name: 'A' }, { node: 'field', name: 'B', lag: 1 }),
          2,
        ),
        (table, tree) => {
          const truths = createSection(table).truths(tree, Int32Array.from(SELECTION));
          const expected = SELECTION.map((security) => evaluateTruth(tree, table, { ...request, security }));
          expect([...truths].map((truth) => (truth === 2 ? null : truth === 1))).toEqual(expected);
        },
      ),
      { numRuns: 200 },
    );
  });
});

test('what comes after the decision changes no bit of a value', () => {
  fc.assert(
    fc.property(tables, tables, createExpressions(), (table, other, tree) => {
      const changeLaterRows = (name: string) =>
        table.numbers[name]!.map((row, t) => (t <= DECISION ? row : other.numbers[name]![t]!));
      const changedTable = {
        ...table,
        numbers: Object.fromEntries(NUMBERS.map((name) => [name, changeLaterRows(name)])),
      };
      const columns = Int32Array.from(SELECTION);
      expect(createSection(changedTable).numbers(tree, columns)).toEqual(createSection(table).numbers(tree, columns));
    }),
    { numRuns: 150 },
  );
});

test('an expression of one datapoint has the bits of the datapoint', () => {
  fc.assert(
    fc.property(tables, (table) => {
      const section = createSection(table);
      const columns = Int32Array.from(SELECTION);
      const expectSame = (text: string, field: object) => {
        const base = { name: 'A', dataset: null, lag: 0, window: null, aggregate: 'last', transform: 'none' } as const;
        const { tree } = parseExpression(text);
        expect(section.numbers(tree, columns)).toEqual(section.numbers({ ...base, ...field }, columns));
      };
      expectSame('A', {});
      expectSame('A(lag=2)', { lag: 2 });
      expectSame('mean(A, window=5)', { aggregate: 'mean', window: 5 });
      expectSame('std(A, window=8, lag=1)', { aggregate: 'std', window: 8, lag: 1 });
      expectSame('zscore(A)', { transform: 'zscore' });
      expectSame('percentile(median(B, window=5))', {
        name: 'B',
        aggregate: 'median',
        window: 5,
        transform: 'percentile',
      });
    }),
    { numRuns: 30 },
  );
});

/** Number of definitions that each refer to the previous one twice. */
const DOUBLINGS = 50;

describe('definitions that refer to others twice are computed once each', () => {
  const constant = (value: number) =>
    Array.from({ length: SESSIONS }, () => Array.from({ length: NAMES }, () => value));
  const numbers = { CLOSE: constant(10), A: constant(3), B: constant(NaN), C: constant(1) };
  const none = Array.from({ length: NAMES }, () => null);
  const compute = (base: string, combine: (name: string) => string, outer: (name: string) => string): number => {
    const datapoints = Object.fromEntries(
      Array.from({ length: DOUBLINGS }, (_, k) => [`D${k + 1}`, combine(k === 0 ? base : `D${k}`)]),
    );
    const section = createSection({ numbers, texts: { SECTOR: none, COUNTRY: none } }, datapoints);
    return section.numbers(parseExpression(outer(`D${DOUBLINGS}`)).tree, Int32Array.of(0, 1))[0]!;
  };

  test.each<[string, (name: string) => string, number]>([
    ['sums', (name) => `${name} + ${name}`, 3 * 2 ** DOUBLINGS],
    ['max', (name) => `max(${name}, ${name})`, 3],
    ['if', (name) => `if(${name} > ${name}, ${name}, ${name})`, 3],
    ['clip', (name) => `clip(${name} + ${name}, 0, 5)`, 5],
  ])('with %s, at a decision and within a window', (_, combine, expected) => {
    expect(compute('A', combine, (name) => name)).toBe(expected);
    expect(compute('A', combine, (name) => `mean(${name}, window=4)`)).toBe(expected);
    expect(compute('A', combine, (name) => `std(${name}, window=4)`)).toBe(0);
    expect(compute('A', combine, (name) => `mean(last(${name}, lag=2) + ${name}, window=4)`)).toBe(2 * expected);
    expect(compute('B', combine, (name) => `mean(${name}, window=4)`)).toBeNaN();
  });
});

test('a number is rounded to a multiple of a step, and a rounding error does not change the multiple', () => {
  const none = Array.from({ length: NAMES }, () => null);
  const constant = (value: number) =>
    Array.from({ length: SESSIONS }, () => Array.from({ length: NAMES }, () => value));
  const compute = (text: string): number => {
    const numbers = { CLOSE: constant(10), A: constant(1), B: constant(NaN), C: constant(1) };
    const section = createSection({ numbers, texts: { SECTOR: none, COUNTRY: none } }, {});
    return section.numbers(parseExpression(text).tree, Int32Array.of(0, 1))[0]!;
  };
  // 0.55 / 0.05 is 11.000000000000002 and 0.15 / 0.05 is 2.9999999999999996 in floating-point numbers.
  const cases: readonly (readonly [string, number])[] = [
    ['ceil(0.55 * A, 0.05)', 0.55],
    ['ceil(0.551 * A, 0.05)', 0.6],
    ['ceil(0.15 * A, 0.05)', 0.15],
    ['floor(0.15 * A, 0.05)', 0.15],
    ['floor(0.149 * A, 0.05)', 0.1],
    ['ceil(A * 2.1)', 3],
    ['floor(-2.1 * A)', -3],
    ['round(2.5 * A)', 3],
    ['round(-2.5 * A)', -3],
    ['round(0.285 * A, 0.01)', 0.29],
    ['round(7.4 * A, 5)', 5],
    ['ceil(B, 0.05)', NaN],
  ];
  for (const [text, expected] of cases) expect([text, compute(text)]).toEqual([text, expected]);
});
