import { expect, test } from 'vitest';
import { formatMessageAt, formatMessage } from '#console/words/findings.js';

test('a message at its field has the label in place of the path, and the affected part of the field', () => {
  const createFindingAt = (path: string, rest: string) => ({ path, message: `${path} ${rest}` });
  expect(formatMessageAt(createFindingAt('pipeline.weighting.cap', 'is 1.5.'), 'cap', 'Cap')).toBe('Cap is 1.5.');
  expect(
    formatMessageAt(createFindingAt('scenarios[1].shocks.SECTOR:Energy', 'must be a number.'), 'shocks', 'Shocks'),
  ).toBe('Shocks, SECTOR:Energy must be a number.');
  expect(formatMessageAt({ path: 'name', message: 'The name is taken.' }, 'name', 'Name')).toBe('The name is taken.');
});

test('a message in a list has words in place of the path in a document, and a place in data unchanged', () => {
  const describeFinding = (path: string) => formatMessage({ path, message: `${path} is 1.5.` });
  expect(describeFinding('pipeline.selection[1].params.count')).toBe('Selection, 2, Count is 1.5.');
  const field = { member: 'at', label: 'Begins at' };
  expect(formatMessage({ path: 'at', message: 'at must be a time.' }, field)).toBe('Begins at must be a time.');
  expect(formatMessage({ path: 'plan.at', message: 'plan.at is 1.' }, field)).toBe('Plan, Begins at is 1.');
  expect(describeFinding('market[XYZ 2024-03-15].CLOSE')).toBe('market[XYZ 2024-03-15].CLOSE is 1.5.');
  expect(formatMessage({ path: 'name', message: 'The name is taken.' })).toBe('The name is taken.');
});
