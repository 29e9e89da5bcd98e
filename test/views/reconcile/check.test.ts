import { expect, test } from 'vitest';
import { createCheck, createFurthest } from '#views/reconcile.js';

const compare = (left: number, right: number) => createCheck({ name: 'sum', meaning: 'Sides are equal.', left, right });

test('a check holds within its tolerance relative to the larger side, and at least to 1', () => {
  expect(compare(1e6, 1e6 + 1e-5).holds).toBe(true);
  expect(compare(1e6, 1e6 + 1e-3).holds).toBe(false);
  expect(compare(1e-12, 0).holds).toBe(true);
});

test.each([
  [NaN, 1],
  [1, NaN],
  [Infinity, 1],
  [1, -Infinity],
  [Infinity, Infinity],
])('a check of %d and %d fails, and its response has no infinite number', (left, right) => {
  const check = compare(left, right);
  expect(check.holds).toBe(false);
  expect([check.left, check.right].every((side) => side === null || Number.isFinite(side))).toBe(true);
});

test('the cell with an infinite difference is the furthest, and fails its check', () => {
  const furthest = createFurthest();
  furthest.note(1, 2);
  furthest.note(Infinity, 3);
  furthest.note(5, 5);
  const { left, right } = furthest.sides();
  expect(compare(left, right).holds).toBe(false);
});
