import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

/** Works like `expect(found).toEqual(expected)`, but for large values: only an actual difference is described. */
export function expectEqual(actual: unknown, expected: unknown, message?: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, message).toEqual(expected);
}
