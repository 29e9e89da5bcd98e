import { isObject, type Json } from './paths.js';
import { plainText } from './scalars.js';

/** Returns the text of an expression: as it was typed, or that which a tree carries. */
export function formulaText(value: Json | undefined): string {
  if (!isObject(value)) return plainText(value);
  const { text, node, name, ...others } = value;
  if (typeof text === 'string') return text;
  const isPlain = node === 'field' && typeof name === 'string' && Object.keys(others).length === 0;
  return isPlain ? name : plainText(value);
}

export interface Completion {
  readonly insert: string;
  readonly help: string;
}

/** Completions that are offered at a time. */
const MOST = 8;

/** Matches the word at the end of a text. Names are shorter than this. */
const LAST_WORD = /[\p{L}_][\p{L}\p{N}_]{0,63}$/u;

/**
 * Returns completions of the word at the end of an expression: names of datapoints, and functions with their bracket.
 */
export function completionsOf(
  text: string,
  datapoints: readonly string[],
  functions: readonly { readonly name: string; readonly signature: string; readonly help: string }[],
): Completion[] {
  const word = LAST_WORD.exec(text)?.[0].toLowerCase();
  if (word === undefined) return [];
  const begins = (name: string): boolean => name.toLowerCase().startsWith(word) && name.length > word.length;
  const called = new Map(functions.map(({ name, signature, help }) => [name, `${signature}: ${help}`]));
  return [
    ...[...new Set(datapoints)].filter(begins).map((name) => ({ insert: name, help: '' })),
    ...[...called].filter(([name]) => begins(name)).map(([name, help]) => ({ insert: `${name}(`, help })),
  ].slice(0, MOST);
}

/** Returns a text with its last word completed. */
export const completeFormula = (text: string, insert: string): string => text.replace(LAST_WORD, () => insert);
