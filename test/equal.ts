import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

/** Works like `expect(found).toEqual(expected)` for large values. It describes the difference only if there is one. */
export function expectEqual(actual: unknown, expected: unknown, message?: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, message).toEqual(expected);
}
