import type { Finding } from '../refusals/findings.js';
import { formatPath } from './shape.js';

/**
 * Returns one finding for each number in a JSON value that is not finite. For example, `1e999` parses as infinite.
 * @cost one pass over the whole value
 */
export function checkFinite(value: unknown, path: readonly PropertyKey[] = []): Finding[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [createTooLarge(formatPath('', path))];
  if (Array.isArray(value)) return value.flatMap((item, i) => checkFinite(item, [...path, i]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => checkFinite(member, [...path, key]));
}

function createTooLarge(path: string): Finding {
  const name = path === '' ? 'The value' : path;
  return {
    severity: 'error',
    code: 'OUT_OF_RANGE',
    message: `${name} is beyond the range of a double; its magnitude must be at most ${Number.MAX_VALUE}.`,
    path,
  };
}
