import { describe, expect, test } from 'vitest';
import { LIMITS } from '#domain/base/limits.js';
import { readExpression } from '#domain/datapoints/expression-checks.js';

/** Returns the code of the first problem in a text, and the characters that cause it. */
function findProblem(text: string, expected: 'number' | 'condition' = 'number'): [string, string] | undefined {
  const [problem] = readExpression(text, expected).problems;
  return problem && [problem.code, text.slice(problem.position!.start, problem.position!.end)];
}

describe('a text that cannot be parsed is refused with the position', () => {
  test.each([
    ['A +', 'BAD_EXPRESSION', ''],
    ['A B', 'BAD_EXPRESSION', 'B'],
    ['(A', 'BAD_EXPRESSION', ''],
    ['A)', 'BAD_EXPRESSION', ')'],
    ['A ; B', 'BAD_EXPRESSION', ';'],
    ['"open', 'BAD_EXPRESSION', '"open'],
    ['`open', 'BAD_EXPRESSION', '`open'],
    ['1 < 2', 'BAD_EXPRESSION', '1'],
    ['mean(A, window=)', 'BAD_EXPRESSION', ')'],
    ['mean(A, widow=60)', 'BAD_EXPRESSION', 'widow'],
    ['mean(window=60, A)', 'BAD_EXPRESSION', 'A'],
    ['mean(A, window=60, window=60)', 'BAD_EXPRESSION', 'window'],
    ['CLOSE(window=60)', 'BAD_EXPRESSION', 'window=60'],
    ['zscore(A, over="all")', 'BAD_EXPRESSION', '"all"'],
    ['1e999', 'BAD_EXPRESSION', '1e999'],
    ['ladder(A, [B], [1, 2])', 'BAD_EXPRESSION', 'B'],
    ['', 'BAD_EXPRESSION', ''],
  ])('%s: %s at "%s"', (text, code, excerpt) => {
    expect(findProblem(text)).toEqual([code, excerpt]);
  });
});

describe('a call that means nothing is refused at its place', () => {
  test.each([
    ['1 + zcore(A)', 'UNKNOWN_FUNCTION', 'zcore(A)'],
    ['zscore(A, B)', 'OUT_OF_RANGE', 'zscore(A, B)'],
    ['1 + min(A)', 'OUT_OF_RANGE', 'min(A)'],
    ['std(A)', 'REQUIRED', 'std(A)'],
    ['last(A)', 'REQUIRED', 'last(A)'],
    ['abs(A, by=SECTOR)', 'UNKNOWN_PARAMETER', 'abs(A, by=SECTOR)'],
    ['mean(A, window=0)', 'OUT_OF_RANGE', 'mean(A, window=0)'],
    ['mean(A, window=2521)', 'OUT_OF_RANGE', 'mean(A, window=2521)'],
    ['mean(A, window=2.5)', 'OUT_OF_RANGE', 'mean(A, window=2.5)'],
    ['mean(A, window=9, lag=9999)', 'OUT_OF_RANGE', 'mean(A, window=9, lag=9999)'],
    ['ladder(A, [1, 2], [1, 2])', 'OUT_OF_RANGE', 'ladder(A, [1, 2], [1, 2])'],
    ['ladder(A, [2, 1], [1, 2, 3])', 'OUT_OF_RANGE', 'ladder(A, [2, 1], [1, 2, 3])'],
    ['winsorise(A)', 'OUT_OF_RANGE', 'winsorise(A)'],
    ['winsorise(A, 3, low=0.1)', 'OUT_OF_RANGE', 'winsorise(A, 3, low=0.1)'],
    ['winsorise(A, low=0.9, high=0.1)', 'OUT_OF_RANGE', 'winsorise(A, low=0.9, high=0.1)'],
    ['mean(zscore(A), window=5)', 'NOT_IN_CHOICES', 'zscore(A)'],
    ['mean(std(A, window=5), window=5)', 'NOT_IN_CHOICES', 'std(A, window=5)'],
    ['mean(is_constituent(), window=5)', 'NOT_IN_CHOICES', 'is_constituent()'],
    ['mean(last_review(CLOSE), window=5)', 'NOT_IN_CHOICES', 'last_review(CLOSE)'],
    ['reviews_since(CLOSE > 1, 41)', 'OUT_OF_RANGE', 'reviews_since(CLOSE > 1, 41)'],
    ['reviews_since(CLOSE > 1, 0.5)', 'OUT_OF_RANGE', 'reviews_since(CLOSE > 1, 0.5)'],
    ['reviews_since(CLOSE)', 'WRONG_TYPE', 'CLOSE'],
    ['years_of_growth(A)', 'WRONG_TYPE', 'A'],
    ['member_of(A)', 'WRONG_TYPE', 'A'],
    ['if(A, 1, 0)', 'WRONG_TYPE', 'A'],
    ['(A > 1) * 2', 'WRONG_TYPE', 'A > 1'],
    ['A > 1', 'WRONG_TYPE', 'A > 1'],
    ['"text" + 1', 'WRONG_TYPE', '"text"'],
    ['if(A * 2 == "x", 1, 0)', 'VALUE_TYPE_MISMATCH', 'A * 2 == "x"'],
  ])('%s: %s at %s', (text, code, path) => {
    expect(findProblem(text)).toEqual([code, path]);
  });

  test('a misspelt function is reported with the one that is meant', () => {
    expect(readExpression('zcore(A)', 'number').problems[0]!.message).toContain('Did you mean zscore?');
  });

  test('a number where a condition is needed is refused', () => {
    expect(findProblem('A + 1', 'condition')).toEqual(['WRONG_TYPE', 'A + 1']);
  });
});

describe('units that are known', () => {
  test.each([
    ['MARKET_CAP + DIVIDEND_YIELD', 'MARKET_CAP + DIVIDEND_YIELD'],
    ['max(MARKET_CAP, AGE)', 'max(MARKET_CAP, AGE)'],
    ['if(CLOSE > AGE, 1, 0)', 'CLOSE > AGE'],
    ['CLOSE * SHARES_OUTSTANDING - CLOSE', 'CLOSE * SHARES_OUTSTANDING - CLOSE'],
    ['coalesce(VOLUME, VALUE_TRADED)', 'coalesce(VOLUME, VALUE_TRADED)'],
  ])('%s clashes at %s', (text, excerpt) => {
    expect(findProblem(text)).toEqual(['UNIT_MISMATCH', excerpt]);
  });

  test.each([
    ['MARKET_CAP', 'money'],
    ['CLOSE', 'money per share'],
    ['CLOSE * SHARES_OUTSTANDING + MARKET_CAP', 'money'],
    ['VALUE_TRADED / MARKET_CAP', 'number'],
    ['zscore(MARKET_CAP) + rank(AGE)', 'number'],
    ['MARKET_CAP + 1000000', 'money'],
    ['sqrt(MARKET_CAP) ^ 2', 'money'],
    ['slope(CLOSE, window=20)', 'money per share per session'],
    ['years_of_growth(DIVIDEND)', 'years'],
    ['SCORE + MARKET_CAP', null],
    ['log(MARKET_CAP)', 'number'],
  ])('%s is in %s', (text, unit) => {
    const read = readExpression(text, 'number');
    expect(read.problems).toEqual([]);
    expect(read.unit).toBe(unit);
  });
});

describe('limits', () => {
  const lengthMax = LIMITS.MAX_EXPRESSION_LENGTH;
  test.each([
    ['length', `A${' '.repeat(lengthMax)}`, 'BAD_EXPRESSION'],
    ['nesting of brackets', `${'('.repeat(200)}A${')'.repeat(200)}`, 'BAD_EXPRESSION'],
    ['nesting of signs', `${'-'.repeat(4000)}A`, 'BAD_EXPRESSION'],
    ['nesting of not', `${'not '.repeat(1000)}A > 1`, 'BAD_EXPRESSION'],
    ['powers', `A${'^A'.repeat(1000)}`, 'BAD_EXPRESSION'],
    ['depth', `${'abs('.repeat(20)}A${')'.repeat(20)}`, 'OUT_OF_RANGE'],
    ['nodes', Array.from({ length: 300 }, () => 'abs(A)').join('+'), 'OUT_OF_RANGE'],
    ['leaves', Array.from({ length: 1100 }, () => 'A').join('+'), 'OUT_OF_RANGE'],
  ])('%s is limited', (_, text, code) => {
    expect(findProblem(text)![0]).toBe(code);
  });

  test('a sum of two hundred terms is within them', () => {
    expect(readExpression(Array.from({ length: 200 }, () => 'A * 2').join(' + '), 'number').problems).toEqual([]);
  });
});

test('any text is either read or refused with a place in it, and never throws', () => {
  const alphabet = [
    'A',
    'zscore',
    '(',
    ')',
    '[',
    ']',
    ',',
    '+',
    '-',
    '^',
    '"',
    "'",
    '`',
    '=',
    '<',
    'not ',
    '1',
    '.',
    '\\',
    '\u{1F600}',
    '\u0000',
  ];
  let state = 7;
  for (let k = 0; k < 4000; k++) {
    let text = '';
    for (let i = 0; i < k % 23; i++) {
      state = (state * 1103515245 + 12345) % 2147483648;
      text += alphabet[state % alphabet.length]!;
    }
    const { tree, problems } = readExpression(text, 'number');
    expect(tree === undefined).toBe(problems.length > 0);
    for (const { position } of problems) {
      expect(position!.start).toBeGreaterThanOrEqual(0);
      expect(position!.end).toBeLessThanOrEqual(text.length);
      expect(position!.end).toBeGreaterThanOrEqual(position!.start);
    }
  }
});
