import type { Json } from './paths.js';
import { parseQuantity } from './quantities.js';

/** Values on a single line: a number, true or false, or a text. */

/** Formats a value as a user would type it. An object is formatted as JSON. */
export function formatPlainText(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * Formats a number, boolean or text. A text that would be parsed as another type is put in quotes, for example `"10"`.
 */
export const formatScalar = (value: Json | undefined): string =>
  typeof value === 'string' && parseTyped(value) !== value ? JSON.stringify(value) : formatPlainText(value);

/**
 * Parses what a user typed: a number, `true` or `false`. Everything else is a text. A text that looks like one of these
 * must be in quotes.
 */
export function parseTyped(typed: string): Json {
  const text = typed.trim();
  if (text === 'true' || text === 'false') return text === 'true';
  return unquoteText(text) ?? parseQuantity(text, null) ?? text;
}

function unquoteText(text: string): string | undefined {
  try {
    const read: unknown = text.startsWith('"') ? JSON.parse(text) : undefined;
    return typeof read === 'string' ? read : undefined;
  } catch {
    return undefined; // not a complete quoted text
  }
}
