import { compareText } from '../refusals/findings.js';
import { Refusal } from '../refusals/refusal.js';

/**
 * Returns JSON with keys in code-point order and without white space, so that equal documents have equal bytes.
 * Negative zero is written as 0.
 * @cost cost of JSON.stringify if the keys are in order, otherwise twice as much
 * @throws Refusal NUMERIC_FAILURE for a number that is not finite
 */
export function toCanonicalJson(value: unknown): string {
  return isCanonical(value) ? JSON.stringify(value) : printValue(value);
}

/** Returns true if the result of `JSON.stringify` is canonical. @cost ends at the first object with unordered keys */
function isCanonical(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true;
  if (typeof value !== 'object' || 'toJSON' in value) return false;
  if (Array.isArray(value)) return value.every(isCanonical);
  const keys = Object.keys(value);
  if (!isOrdered(keys)) return false;
  const members = value as Readonly<Record<string, unknown>>; // the value is not an array
  return keys.every((key) => members[key] === undefined || isCanonical(members[key]));
}

function printValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'number':
      if (!Number.isFinite(value)) throw new Refusal('NUMERIC_FAILURE', `A result is not a JSON number: ${value}.`);
      return JSON.stringify(value);
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? printArray(value) : printObject(value as Readonly<Record<string, unknown>>); // the value is not an array
    default:
      throw new Error(`not a JSON value: ${typeof value}`);
  }
}

function printArray(items: readonly unknown[]): string {
  if (items.every((item) => typeof item === 'string')) return JSON.stringify(items);
  let text = '';
  for (const item of items) text += `${text === '' ? '[' : ','}${printValue(item ?? null)}`;
  return `${text}]`;
}

function printObject(members: Readonly<Record<string, unknown>>): string {
  const keys = Object.keys(members);
  if (!isOrdered(keys)) keys.sort(compareText);
  let text = '';
  for (const key of keys) {
    const member = members[key];
    if (member !== undefined) text += `${text === '' ? '{' : ','}${JSON.stringify(key)}:${printValue(member)}`;
  }
  return text === '' ? '{}' : `${text}}`;
}

function isOrdered(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) if (compareText(keys[i - 1]!, keys[i]!) > 0) return false;
  return true;
}
