import { describe, expect, test } from 'vitest';
import { toCanonical } from '#domain/datapoints/expression-tree.js';
import { checkTree } from '#domain/datapoints/expression-checks.js';
import { parseExpression, printExpression } from '#domain/datapoints/expression-text.js';
import { FUNCTIONS } from '#domain/datapoints/functions.js';
import { fc } from '../../../fast-check.js';
import { createCondition, createExpressions } from './arbitrary-trees.js';

const trees = fc.oneof(createExpressions(), createCondition(createExpressions(0), 2));

test('a tree as text and read again is the same tree, and its text the same text', () => {
  fc.assert(
    fc.property(trees, (tree) => {
      const text = printExpression(tree);
      const read = parseExpression(text).tree;
      expect(read).toEqual(toCanonical(tree));
      expect(printExpression(read)).toBe(text);
    }),
  );
});

test('brackets around every operand and other spaces change nothing', () => {
  fc.assert(
    fc.property(trees, fc.constantFrom('', ' ', '\n\t'), (tree, space) => {
      const text = printExpression(tree);
      const spacedText = `${space}(${text.replaceAll(' ', ' ' + space)})${space}`;
      expect(parseExpression(spacedText).tree).toEqual(parseExpression(text).tree);
    }),
  );
});

test('every node of a text is placed on characters that read as the same node', () => {
  fc.assert(
    fc.property(createExpressions(), (tree) => {
      const text = printExpression(tree);
      for (const [node, { start, end }] of parseExpression(text).spans) {
        if (node.node === 'value' && typeof node.value === 'object') continue; // lists occur only in calls
        expect(toCanonical(parseExpression(text.slice(start, end)).tree)).toEqual(toCanonical(node));
      }
    }),
  );
});

describe('precedence', () => {
  test.each([
    ['a + b * c', 'a + (b * c)'],
    ['a - b - c', '(a - b) - c'],
    ['a / b / c', '(a / b) / c'],
    ['a ^ b ^ c', 'a ^ (b ^ c)'],
    ['-a ^ 2', '-(a ^ 2)'],
    ['2 ^ -a', '2 ^ (-a)'],
    ['-a * b', '(-a) * b'],
    ['if(a > 1 and b > 1 or c > 1, a, b)', 'if((a > 1 and b > 1) or c > 1, a, b)'],
    ['if(not a > 1 and b > 1, a, b)', 'if((not (a > 1)) and b > 1, a, b)'],
    ['if(5 < a, a, b)', 'if(a > 5, a, b)'],
  ])('%s means %s', (text, expected) => {
    expect(parseExpression(text).tree).toEqual(parseExpression(expected).tree);
  });

  test('a sum in brackets on the right stays one, as floating point is not associative', () => {
    expect(printExpression(parseExpression('a + (b + c)').tree)).toBe('a + (b + c)');
    expect(printExpression(parseExpression('(a + b) + c').tree)).toBe('a + b + c');
  });
});

describe('names and constants', () => {
  test.each([
    ['`Price to Book` / CLOSE', '`Price to Book` / CLOSE'],
    ['`and` + 1', '`and` + 1'],
    ['`a``b`', '`a``b`'],
    ['`rank`(lag=2)', '`rank`(lag=2)'],
    ['CLOSE(dataset="market", lag=3)', 'CLOSE(lag=3, dataset="market")'],
    ['VOLATILITY(window=60)', 'VOLATILITY(window=60)'],
    ['last(CLOSE, lag=5)', 'CLOSE(lag=5)'],
    ["if(SECTOR == 'it\\'s \"so\"', 1, 0)", 'if(SECTOR == "it\'s \\"so\\"", 1, 0)'],
    ['1.50e3 * A', '1500 * A'],
    ['.5 + A', '0.5 + A'],
    ['- -3 + A', '3 + A'],
  ])('%s is %s', (text, expected) => {
    expect(printExpression(parseExpression(text).tree)).toBe(expected);
  });
});

test('an older field with aggregate and transform is the functions of these names', () => {
  const field = { node: 'field', name: 'A', aggregate: 'mean', window: 60, lag: 5, transform: 'zscore' } as const;
  expect(printExpression(field)).toBe('zscore(mean(A, window=60, lag=5))');
});

test.each(FUNCTIONS.map((entry) => [`${entry.name}, ${entry.form}`, entry.example] as const))(
  'the example of %s is canonical text without a problem: %s',
  (_, example) => {
    const { tree } = parseExpression(example);
    expect(checkTree(tree, 'number').problems).toEqual([]);
    expect(parseExpression(printExpression(tree)).tree).toEqual(tree);
  },
);
