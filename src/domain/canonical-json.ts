import { compareText } from './findings.js';
import { Refusal } from './refusal.js';

/**
 * JSON with keys in code-point order and no white space, so that equal documents are equal bytes.
 * Negative zero is written 0.
 * @throws Refusal NUMERIC_FAILURE for a number that is not finite
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new Refusal('NUMERIC_FAILURE', `A result is not a JSON number: ${value}.`);
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value === 'object') {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .toSorted(([a], [b]) => compareText(a, b))
      .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
    return `{${members.join(',')}}`;
  }
  throw new Error(`not a JSON value: ${typeof value}`);
}
