import { describe, expect, test } from 'vitest';
import { alignDays, createDeciderOf, selectByRule, createTableMarket } from './rule-market.js';

/**
 * Truth values of the conditions A and B: true, false and unknown. The market has nine securities, one for each pair of
 * values.
 */
const TRUTHS = [1, 0, null] as const;
const pairs = TRUTHS.flatMap((a) => TRUTHS.map((b) => [a, b] as const));
const createLabel = (truth: 1 | 0 | null) => (truth === 1 ? 'T' : truth === 0 ? 'F' : 'U');
const sm = alignDays(
  createTableMarket({
    identifiers: pairs.map(([a, b]) => `${createLabel(a)}${createLabel(b)}`).toSorted(),
    fields: findTable(),
    reference: {
      GROUP: pairs.map(() => 'x'),
      FLAG: pairs.map((_, i) => i % 2 === 0),
      CODE: pairs.map((_, i) => (i === 0 ? null : String(i))),
    },
  }),
);

function findTable() {
  const sortedPairs = pairs.toSorted((x, y) =>
    `${createLabel(x[0])}${createLabel(x[1])}` < `${createLabel(y[0])}${createLabel(y[1])}` ? -1 : 1,
  );
  return { CLOSE: [sortedPairs.map(() => 1)], A: [sortedPairs.map(([a]) => a)], B: [sortedPairs.map(([, b]) => b)] };
}

const createEquality = (name: string) => ({
  node: 'comparison',
  field: { node: 'field', name },
  comparison: 'eq',
  value: 1,
});
const A = createEquality('A');
const B = createEquality('B');
const createNegation = (operand: unknown) => ({ node: 'not', operand });
const createAll = (...operands: unknown[]) => ({ node: 'all', operands });
const createAny = (...operands: unknown[]) => ({ node: 'any', operands });

/**
 * Returns the truth value of an expression for each pair. It follows from two selections: one keeps unknown values, the
 * other drops them.
 */
function listTruthValues(expression: unknown): Record<string, string> {
  const certainNames = selectByRule(sm, { type: 'ExpressionFilter', params: { expression } });
  const possibleNames = selectByRule(sm, { type: 'ExpressionFilter', params: { expression, missing: 'include' } });
  return Object.fromEntries(
    sm.identifiers.map((name) => [name, certainNames.includes(name) ? 'T' : possibleNames.includes(name) ? 'U' : 'F']),
  );
}

const createTruthTable = (formatCell: (a: string, b: string) => string) =>
  Object.fromEntries(sm.identifiers.map((name) => [name, formatCell(name[0]!, name[1]!)]));

describe('three-valued logic', () => {
  test('all: false if any operand is false, else unknown if any is unknown', () => {
    expect(listTruthValues(createAll(A, B))).toEqual({
      TT: 'T',
      TF: 'F',
      TU: 'U',
      FT: 'F',
      FF: 'F',
      FU: 'F',
      UT: 'U',
      UF: 'F',
      UU: 'U',
    });
  });

  test('any: true if any operand is true, else unknown if any is unknown', () => {
    expect(listTruthValues(createAny(A, B))).toEqual({
      TT: 'T',
      TF: 'T',
      TU: 'T',
      FT: 'T',
      FF: 'F',
      FU: 'U',
      UT: 'T',
      UF: 'U',
      UU: 'U',
    });
  });

  test('not: inverts true and false and leaves unknown unknown', () => {
    expect(listTruthValues(createNegation(A))).toEqual(createTruthTable((a) => ({ T: 'F', F: 'T', U: 'U' })[a]!));
  });

  test('all of no operands is true, any of none is false', () => {
    expect(listTruthValues(createAll())).toEqual(createTruthTable(() => 'T'));
    expect(listTruthValues(createAny())).toEqual(createTruthTable(() => 'F'));
    expect(listTruthValues(createNegation(createAny()))).toEqual(createTruthTable(() => 'T'));
  });

  test("De Morgan's laws hold with unknowns", () => {
    expect(listTruthValues(createNegation(createAll(A, B)))).toEqual(
      listTruthValues(createAny(createNegation(A), createNegation(B))),
    );
    expect(listTruthValues(createNegation(createAny(A, B)))).toEqual(
      listTruthValues(createAll(createNegation(A), createNegation(B))),
    );
  });

  test('a comparison and its opposite are unknown together', () => {
    const differentComparison = { ...A, comparison: 'ne' };
    expect(listTruthValues(differentComparison)).toEqual(listTruthValues(createNegation(A)));
  });
});

describe('comparisons', () => {
  const market = alignDays(
    createTableMarket({
      identifiers: ['A', 'B', 'C', 'D'],
      fields: { CLOSE: [[1, 2, 3, 4]] },
      reference: {
        SECTOR: ['Energy', 'energy', null, 'Health'],
        ACTIVE: [true, false, true, null],
        RATING: [1, 2, 3, null],
      },
    }),
  );
  const selectPassing = (name: string, comparison: string, value: unknown) =>
    selectByRule(market, {
      type: 'ExpressionFilter',
      params: { expression: { node: 'comparison', field: { node: 'field', name }, comparison, value } },
    }).join('');

  test('numbers by all eight comparisons', () => {
    expect(selectPassing('CLOSE', 'gt', 2)).toBe('CD');
    expect(selectPassing('CLOSE', 'ge', 2)).toBe('BCD');
    expect(selectPassing('CLOSE', 'lt', 2)).toBe('A');
    expect(selectPassing('CLOSE', 'le', 2)).toBe('AB');
    expect(selectPassing('CLOSE', 'eq', 2)).toBe('B');
    expect(selectPassing('CLOSE', 'ne', 2)).toBe('ACD');
    expect(selectPassing('CLOSE', 'in', [1, 4, 9])).toBe('AD');
    expect(selectPassing('CLOSE', 'between', [2, 3])).toBe('BC');
  });

  test('strings compare by case, booleans by value, and missing values are never equal or different', () => {
    expect(selectPassing('SECTOR', 'eq', 'Energy')).toBe('A');
    expect(selectPassing('SECTOR', 'ne', 'Energy')).toBe('BD');
    expect(selectPassing('SECTOR', 'in', ['energy', 'Health'])).toBe('BD');
    expect(selectPassing('ACTIVE', 'eq', true)).toBe('AC');
    expect(selectPassing('RATING', 'ge', 2)).toBe('BC');
  });

  test('a datapoint of another kind than the value is refused at its position', () => {
    const findRefusal = (params: unknown) => {
      try {
        createDeciderOf(market, {
          selection: [{ id: 'x', type: 'ExpressionFilter', params }],
          weighting: { type: 'EqualWeight' },
        });
      } catch (failure) {
        return (failure as { detail: { findings: { code: string; path: string; message: string }[] } }).detail
          .findings[0];
      }
      return undefined;
    };
    const createComparison = (name: string, word: string, value: unknown) => ({
      node: 'comparison',
      field: { node: 'field', name },
      comparison: word,
      value,
    });
    expect(findRefusal({ expression: createAll(createComparison('SECTOR', 'gt', 1)) })).toMatchObject({
      code: 'VALUE_TYPE_MISMATCH',
      path: 'pipeline.selection[0].params.expression.operands[0].field',
      message: 'SECTOR contains texts, which gt cannot compare with 1.',
    });
    expect(findRefusal({ expression: createComparison('CLOSE', 'eq', 'x') })?.code).toBe('VALUE_TYPE_MISMATCH');
    expect(findRefusal({ expression: createComparison('NOTHING', 'eq', 1) })).toMatchObject({
      code: 'UNKNOWN_FIELD_NAME',
      path: 'pipeline.selection[0].params.expression.field',
    });
    expect(findRefusal({ expression: createComparison('MARKET_CAP', 'gt', 1) })).toMatchObject({
      code: 'UNKNOWN_FIELD_NAME',
      message: 'The store has no SHARES_OUTSTANDING, which MARKET_CAP needs.',
    });
  });
});

describe('datapoints in expressions', () => {
  const market = alignDays(
    createTableMarket({
      identifiers: ['A', 'B', 'C'],
      // Nine sessions. B has no price on the last seven, and C has no price on the last two.
      fields: {
        CLOSE: [
          [10, 1, 5],
          [11, 2, 6],
          [12, null, 7],
          [13, null, 8],
          [14, null, 9],
          [15, null, 10],
          [16, null, 11],
          [17, null, null],
          [18, null, null],
        ],
      },
    }),
  );
  const createValues = (field: Partial<Record<string, unknown>>, session = 8) => {
    const test = (value: number) =>
      selectByRule(
        market,
        {
          type: 'ExpressionFilter',
          params: {
            expression: {
              node: 'comparison',
              field: { node: 'field', name: 'CLOSE', ...field },
              comparison: 'eq',
              value,
            },
          },
        },
        { session },
      );
    return (value: number) => test(value).join('');
  };

  test('the latest bar is read while it is at most five sessions old', () => {
    expect(createValues({})(11)).toBe('C');
    expect(createValues({}, 6)(2)).toBe('B'); // the last price of B is five sessions old
    expect(selectByRule(market, { type: 'TopN', params: { field: 'CLOSE', count: 3 } }, { session: 7 })).toEqual([
      'A',
      'C',
    ]); // the price of B is six sessions old, so B is no longer in the universe
  });

  test('a lag reads the values known a number of sessions ago', () => {
    expect(createValues({ lag: 3 })(15)).toBe('A');
    expect(createValues({ lag: 3 })(10)).toBe('C');
    expect(createValues({ lag: 9 })(1)).toBe(''); // before the first session
  });

  test('aggregates read the sessions with a bar, of which half the window is enough', () => {
    expect(createValues({ aggregate: 'mean', window: 4 })(10.5)).toBe('C'); // the mean of 10 and 11, from two of four sessions
    expect(createValues({ aggregate: 'mean', window: 3 })(11)).toBe(''); // one of three sessions is not enough
    expect(createValues({ aggregate: 'median', window: 3 })(17)).toBe('A');
    expect(createValues({ aggregate: 'sum', window: 3 })(51)).toBe('A');
    expect(createValues({ aggregate: 'min', window: 3 })(16)).toBe('A');
    expect(createValues({ aggregate: 'max', window: 3, lag: 1 })(17)).toBe('A');
    expect(createValues({ aggregate: 'count', window: 4 })(2)).toBe('C');
    expect(createValues({ aggregate: 'std', window: 3 })(1)).toBe('A');
  });

  test('transforms are taken across the survivors that have a value', () => {
    expect(createValues({ transform: 'rank' })(1)).toBe('A');
    expect(createValues({ transform: 'rank' })(2)).toBe('C');
    expect(createValues({ transform: 'percentile' })(0)).toBe('C');
    expect(createValues({ transform: 'zscore' })(1)).toBe('A');
  });

  test('equal values share a rank, and one value alone has the percentile 1', () => {
    const ties = alignDays(
      createTableMarket({
        identifiers: ['A', 'B', 'C', 'D'],
        fields: { CLOSE: [[5, 7, 7, 9]], ONLY: [[null, 3, null, null]] },
      }),
    );
    const selectPassing = (name: string, transform: string, value: number) =>
      selectByRule(ties, {
        type: 'ExpressionFilter',
        params: {
          expression: { node: 'comparison', field: { node: 'field', name, transform }, comparison: 'eq', value },
        },
      }).join('');
    expect(selectPassing('CLOSE', 'rank', 2)).toBe('BC');
    expect(selectPassing('CLOSE', 'rank', 4)).toBe('A');
    expect(selectPassing('ONLY', 'percentile', 1)).toBe('B');
    expect(selectPassing('ONLY', 'zscore', 0)).toBe('B');
  });
});
