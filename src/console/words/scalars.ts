import type { Json } from './paths.js';
import { parseQuantity } from './quantities.js';

/** Single-line values: a number, true or false, or a text. */

/** Returns a value as it is typed; an object as JSON. */
export function plainText(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Returns a scalar as text; a string that would be read as another type is quoted: `"10"`. */
export const scalarText = (value: Json | undefined): string =>
  typeof value === 'string' && scalarOf(value) !== value ? JSON.stringify(value) : plainText(value);

/**
 * Parses numbers as people type them, and `true` and `false`. Anything else is a text, in quotes if it looks like one
 * of these.
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
    return undefined; // It is not a complete quoted text.
  }
}
