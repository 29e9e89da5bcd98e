import type { DatapointEvaluation } from '#clients/typescript/divisor.js';
import { formatFigure } from './numbers.js';
import { isObject, type Json } from './paths.js';
import { formatPlainText, formatScalar } from './scalars.js';

/** Returns the text of an expression: as it was typed, or as it is stored with a tree. */
export function formatFormula(value: Json | undefined): string {
  if (!isObject(value)) return formatPlainText(value);
  const { text, node, name, ...others } = value;
  if (typeof text === 'string') return text;
  const isPlain = node === 'field' && typeof name === 'string' && Object.keys(others).length === 0;
  return isPlain ? name : formatPlainText(value);
}

export interface Completion {
  readonly insert: string;
  readonly help: string;
}

/** Maximum number of completions shown. */
const COMPLETIONS_MAX = 8;

/** Matches the word at the end of a text. A name has at most 64 characters. */
const LAST_WORD = /[\p{L}_][\p{L}\p{N}_]{0,63}$/u;

/**
 * Returns completions of the word at the end of an expression: datapoint names, and function names followed by an
 * opening bracket.
 */
export function listCompletions(
  text: string,
  datapoints: readonly string[],
  functions: readonly { readonly name: string; readonly signature: string; readonly help: string }[],
): Completion[] {
  const word = LAST_WORD.exec(text)?.[0].toLowerCase();
  if (word === undefined) return [];
  const begins = (name: string): boolean => name.toLowerCase().startsWith(word) && name.length > word.length;
  const helpByName = new Map(functions.map(({ name, signature, help }) => [name, `${signature}: ${help}`]));
  return [
    ...[...new Set(datapoints)].filter(begins).map((name) => ({ insert: name, help: '' })),
    ...[...helpByName].filter(([name]) => begins(name)).map(([name, help]) => ({ insert: `${name}(`, help })),
  ].slice(0, COMPLETIONS_MAX);
}

/** Replaces the last word of a text by its completion. */
export const completeFormula = (text: string, insert: string): string => text.replace(LAST_WORD, () => insert);

/** Returns the unit of a formula and some of its values, for example `money per share · ABC 94.6055 · on 2024-01-31`. */
export const formatEvaluation = ({
  unit,
  values,
  as_of: asOf,
}: Pick<DatapointEvaluation, 'unit' | 'values' | 'as_of'>): string =>
  [
    unit,
    ...values.map(({ identifier, value }) =>
      [identifier, typeof value === 'number' || value === null ? formatFigure(value) : formatScalar(value)].join(' '),
    ),
    asOf === null ? null : `on ${asOf}`,
  ]
    .filter((part) => part !== null)
    .join(' · ');
