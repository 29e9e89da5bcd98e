import { expect, test } from 'vitest';
import { describeReason } from '#services/daily-plans/checks.js';

type Item = Parameters<typeof describeReason>[0][number];

const createFinding = (check: string, identifier: string | null, value: number | null, change: object = {}): Item => ({
  state: 'blocked',
  message: `${identifier} fails ${check}.`,
  detail: { check, identifier, measure: value === null ? null : { value, limit: 0.03, unit: 'fraction' } },
  ...change,
});
const move = (identifier: string, value: number): Item => createFinding('moves', identifier, value);

test('a single finding, and items that are no findings, have the message of the first item', () => {
  expect(describeReason([move('A', 0.05)])).toBe('A fails moves.');
  const files = ['a.csv', 'b.csv'].map((name): Item => ({ state: 'failed', message: `No ${name}.`, detail: null }));
  expect(describeReason(files)).toBe('No a.csv.');
});

test('several moves are counted, with the largest by its absolute value', () => {
  const moves = [move('A', 0.0494), move('B', -0.0512), move('C', 0.031)];
  expect(describeReason(moves)).toBe('3 unexplained moves, largest B -5.12%, limit 3%.');
  expect(describeReason([...moves, createFinding('weights', null, null)])).toBe(
    '3 unexplained moves, largest B -5.12%, limit 3%. And 1 more finding.',
  );
});

test('findings of other checks are counted after the first', () => {
  const findings = ['A', 'B', 'C'].map((identifier) => createFinding('coverage', identifier, 0.9));
  expect(describeReason(findings)).toBe('A fails coverage. And 2 more findings.');
});

test('a move that waits for the approval of an override keeps its message', () => {
  const waitingMove = { ...move('A', 0.05), state: 'waiting', message: 'The override waits.' } as const;
  expect(describeReason([waitingMove, move('B', 0.06)])).toBe('The override waits. And 1 more finding.');
});

test('the largest of moves is not stated if not all moves are listed', () => {
  const moves = Array.from({ length: 50 }, (_, k) => move(`S${k}`, 0.05));
  const remainder = createFinding('moves', null, null, { message: 'And 7 more findings.' });
  expect(describeReason([...moves, remainder])).toBe('S0 fails moves. And at least 50 more findings.');
});
