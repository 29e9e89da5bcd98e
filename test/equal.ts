import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

/** As `expect(found).toEqual(expected)`, for what is large: the words for a difference are looked for only where there is one. */
export function expectEqual(found: unknown, expected: unknown, message?: string): void {
  if (!isDeepStrictEqual(found, expected)) expect(found, message).toEqual(expected);
}
