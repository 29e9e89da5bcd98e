import type { Json } from './paths.js';
import { parseQuantity } from './quantities.js';

/** Values on a single line: a number, true or false, or a text. */

/** Formats a value as it would be typed; an object is formatted as JSON. */
export function plainText(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Formats a scalar. A string that would be parsed as another type is quoted, for example `"10"`. */
export const scalarText = (value: Json | undefined): string =>
  typeof value === 'string' && scalarOf(value) !== value ? JSON.stringify(value) : plainText(value);

/**
 * Parses numbers as users type them, `true` and `false`. Other input is a text, which is quoted if it looks like a
 * number, `true` or `false`.
 */
export function scalarOf(typed: string): Json {
  const text = typed.trim();
  if (text === 'true' || text === 'false') return text === 'true';
  return unquote(text) ?? parseQuantity(text, null) ?? text;
}

function unquote(text: string): string | undefined {
  try {
    const read: unknown = text.startsWith('"') ? JSON.parse(text) : undefined;
    return typeof read === 'string' ? read : undefined;
  } catch {
    return undefined; // not a complete quoted text
  }
}
