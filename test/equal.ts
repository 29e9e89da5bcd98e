import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

/** Works like `expect(found).toEqual(expected)` for large values: a difference is only described if there is one. */
export function expectEqual(found: unknown, expected: unknown, message?: string): void {
  if (!isDeepStrictEqual(found, expected)) expect(found, message).toEqual(expected);
}
