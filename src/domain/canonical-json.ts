import { compareText } from './findings.js';
import { Refusal } from './refusal.js';

/**
 * JSON with keys in code-point order and no white space, so that equal documents are equal bytes.
 * Negative zero is written 0.
 * @cost twice that of JSON.stringify
 * @throws Refusal NUMERIC_FAILURE for a number that is not finite
 */
export function canonicalJson(value: unknown): string {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'number':
      if (!Number.isFinite(value)) throw new Refusal('NUMERIC_FAILURE', `A result is not a JSON number: ${value}.`);
      return JSON.stringify(value);
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? arrayText(value) : objectText(value as Readonly<Record<string, unknown>>); // No array.
    default:
      throw new Error(`not a JSON value: ${typeof value}`);
  }
}

function arrayText(items: readonly unknown[]): string {
  if (items.every((item) => typeof item === 'string')) return JSON.stringify(items);
  let text = '';
  for (const item of items) text += `${text === '' ? '[' : ','}${canonicalJson(item ?? null)}`;
  return `${text}]`;
}

function objectText(members: Readonly<Record<string, unknown>>): string {
  const keys = Object.keys(members);
  if (!isOrdered(keys)) keys.sort(compareText);
  let text = '';
  for (const key of keys) {
    const member = members[key];
    if (member !== undefined) text += `${text === '' ? '{' : ','}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return text === '' ? '{}' : `${text}}`;
}

function isOrdered(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) if (compareText(keys[i - 1]!, keys[i]!) > 0) return false;
  return true;
}
