import { expect, test } from 'vitest';
import { parseFilter } from '#console/words/tables.js';

const filterValues = (typed: string, values: readonly (number | string | null)[], isPercent = false) => {
  const test = parseFilter(typed, typeof values[0] === 'number', isPercent);
  return test === undefined ? undefined : values.filter(test);
};

test('numbers are compared, in a range, or equal to a number as it is written', () => {
  const values = [1, 2.00004, 3, null];
  expect(filterValues('> 2', values)).toEqual([2.00004, 3]);
  expect(filterValues('<=1', values)).toEqual([1]);
  expect(filterValues('2..3', values)).toEqual([2.00004, 3]);
  expect(filterValues('2', values)).toEqual([2.00004]);
  expect(filterValues('>= 1,000', [999, 1000])).toEqual([1000]);
});

test('a column of percentages takes percent with or without its sign', () => {
  expect(filterValues('> 5', [0.04, 0.06], true)).toEqual([0.06]);
  expect(filterValues('> 5%', [0.04, 0.06], true)).toEqual([0.06]);
  expect(filterValues('\u22121..0', [-0.02, -0.005, 0.01], true)).toEqual([-0.005]);
});

test('a text contains every word in any case, and none of the words after a minus', () => {
  const values = ['Technology', 'Financial technology', null];
  expect(filterValues('TECH', values)).toEqual(['Technology', 'Financial technology']);
  expect(filterValues('tech -fin', values)).toEqual(['Technology']);
  expect(filterValues('-tech', values)).toEqual([null]);
});

test.each(['', ' ', '>', '> x', '1..', '..'])('%j is no condition on numbers, so that every row is shown', (typed) => {
  expect(parseFilter(typed, true, false)).toBeUndefined();
});
