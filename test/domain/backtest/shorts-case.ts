import { expect } from 'vitest';
import type { Book } from '#domain/books/book.js';
import type { Run } from '#domain/backtest/run.js';
import { type Weights, WEEK } from './signed-case.js';

export function readHeldOn({ sm, columns, weights }: Book, row: number): Record<string, number> {
  return Object.fromEntries(
    [...columns].flatMap((column, slot) =>
      weights[row * columns.length + slot] !== 0
        ? [[sm.identifiers[column]!, weights[row * columns.length + slot]!]]
        : [],
    ),
  );
}

export function close(actual: ArrayLike<number>, expected: readonly number[], digits = 10): void {
  expect(actual.length).toBe(expected.length);
  expected.forEach((value, i) => expect(actual[i]).toBeCloseTo(value, digits));
}

export function closeTo(actual: Weights, expected: Weights): void {
  expect(Object.keys(actual)).toEqual(Object.keys(expected));
  close(Object.values(actual), Object.values(expected), 12);
}

export const listLevels = (run: Run): number[] => [...run.index.book.value];
export const repeatPrice = (price: number): number[] => WEEK.map(() => price);
