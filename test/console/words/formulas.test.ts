import { expect, test } from 'vitest';
import { completeFormula, formatEvaluation, formatFormula, listCompletions } from '#console/words/form-fields.js';

const FUNCTIONS = [
  { name: 'zscore', signature: 'zscore(x)', help: 'Distance from the mean.' },
  { name: 'max', signature: 'max(x, y)', help: 'The largest.' },
  { name: 'max', signature: 'max(x, window=60)', help: 'The largest of a window.' },
];

test('the word at the end of a formula is completed as a datapoint or a function with its bracket', () => {
  const listInsertions = (text: string) =>
    listCompletions(text, ['MARKET_CAP', 'MOMENTUM', 'MAXIMUM'], FUNCTIONS).map(({ insert }) => insert);
  expect(listInsertions('zscore(mo')).toEqual(['MOMENTUM']);
  expect(listInsertions('1 + ma')).toEqual(['MARKET_CAP', 'MAXIMUM', 'max(']);
  expect(listInsertions('MARKET_CAP')).toEqual([]);
  expect(listInsertions('MARKET_CAP * ')).toEqual([]);
  expect(completeFormula('zscore(mo', 'MOMENTUM')).toBe('zscore(MOMENTUM');
  expect(completeFormula('1 + ma', 'max(')).toBe('1 + max(');
});

test('a formula is shown as it was typed, or as its tree is formatted', () => {
  expect(formatFormula('A + 1')).toBe('A + 1');
  expect(formatFormula({ node: 'function', name: 'abs', operands: [], text: 'abs(A)' })).toBe('abs(A)');
  expect(formatFormula({ node: 'field', name: 'A' })).toBe('A');
  expect(formatFormula(undefined)).toBe('');
});

test('the values of a formula are rounded for reading', () => {
  const values = [
    { identifier: 'ABC', value: 94.60550000000002 },
    { identifier: 'DEF', value: 'Energy' },
    { identifier: 'GHI', value: null },
  ];
  const evaluation = { unit: 'money per share', values, as_of: '2024-01-31' };
  expect(formatEvaluation(evaluation)).toBe('money per share · ABC 94.6055 · DEF Energy · GHI – · on 2024-01-31');
});
