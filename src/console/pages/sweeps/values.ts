import type { Finding } from '#clients/typescript/divisor.js';
import type { Json } from '../../words/paths.js';
import { parseQuantity, quantityText } from '../../words/quantities.js';

/** The end of a pointer, for the head of a column: rules are counted from one, as in the designer. */
export function pointerLabel(pointer: string): string {
  const steps = pointer.split('/').slice(2);
  return steps
    .filter((step) => step !== 'pipeline' && step !== 'params')
    .map((step) => (/^\d+$/.test(step) ? String(Number(step) + 1) : step))
    .join(' ');
}

/** A value that a variant sets. */
export function patchText(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll('_', ' ') : JSON.stringify(value);
}

/** Values as they are typed, separated by commas: numbers as the unit allows them (`5%` of a fraction), true, false, null, or words. */
export function parseValues(text: string, unit: string | null = null): readonly Json[] {
  return text
    .split(/[,;\s]+/)
    .filter(Boolean)
    .map((word) => parseQuantity(word, unit) ?? worded(word));
}

function worded(word: string): Json {
  try {
    return JSON.parse(word) as Json;
  } catch {
    return word;
  }
}

/** A value with its unit: `5%` of a fraction, `10 bps`. */
export function withUnit(value: Json | undefined, unit: string | null): string {
  if (value === undefined || value === null) return 'none';
  return typeof value === 'number' ? quantityText(value, unit) : patchText(value);
}

/** Name and unit of what a pointer leads to. */
export type Told = (pointer: string) => { readonly label: string; readonly unit: string | null };

/** Findings about what a pointer of the grid leads to: `grid/document.pipeline.selection[0].params.count`. */
export const findingsAt = (findings: readonly Finding[], pointer: string): readonly Finding[] =>
  findings.filter(({ path }) => `${stepsOf(path)}/`.startsWith(`grid${pointer}/`));

/** A path with slashes between its steps. */
const stepsOf = (path: string): string => path.replaceAll(/[./[\]]+/g, '/').replace(/\/$/, '');
