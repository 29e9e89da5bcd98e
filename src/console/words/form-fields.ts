import type { DatapointEvaluation, ParameterSpec } from '#clients/typescript/divisor.js';
import { formatLabel, lowerFirst } from './labels.js';
import { formatFigure } from './numbers.js';
import { isObject, type Json, type JsonObject } from './paths.js';
import { parseQuantity } from './quantities.js';

/**
 * Returns an unused id for a document of a template. It is the id of the template; if any document of the template
 * already exists under it, a number is added.
 */
export function findFreeId(
  { id, index_ids: indexIds }: { readonly id: string; readonly index_ids: readonly string[] },
  taken: ReadonlySet<string>,
): string {
  const stem = id.toUpperCase();
  const isFree = (candidate: string) => indexIds.every((own) => !taken.has(candidate + own.slice(stem.length)));
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? stem : `${stem}-${number}`;
    if (isFree(candidate)) return candidate;
  }
}

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

/** Returns the text of an expression: as it was typed, or as it is stored with a tree. */
export function formatFormula(value: Json | undefined): string {
  if (!isObject(value)) return formatPlainText(value);
  const { text, node, name, ...others } = value;
  if (typeof text === 'string') return text;
  const isPlain = node === 'field' && typeof name === 'string' && Object.keys(others).length === 0;
  return isPlain ? name : formatPlainText(value);
}

export interface Suggestion {
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
): Suggestion[] {
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

/** Matches a choice and its meaning in a help text: `value`: meaning. */
const CHOICE_MEANING = /`([^`]+)`:? ([^;]+?)(?:;|\.?$)/g;

/**
 * Returns the help for the selected choice, from a help text that lists several choices: the text before the list, and
 * the meaning of the choice.
 * @returns the unchanged help text if it contains no such list
 */
export function findChoiceHelp(help: string, chosen: string | undefined): string {
  if (chosen === undefined) return help;
  const list = help.indexOf('`');
  const meanings = new Map(
    [...help.slice(Math.max(0, list)).matchAll(CHOICE_MEANING)].map(([, name, words]) => [name, words]),
  );
  const meaning = meanings.get(chosen);
  return list < 0 || meanings.size < 2 || meaning === undefined
    ? help
    : `${help.slice(0, list)}\`${chosen}\`: ${meaning}.`;
}

/**
 * Replaces names between backticks by the words of the form. Names without words are unchanged.
 * @param words label of each field, and text of each choice, by name
 */
export const writeNames = (help: string, words: ReadonlyMap<string, string>): string =>
  help.replaceAll(/`([^`]+)`/g, (code, name: string) => words.get(name) ?? code);

/** Forms of a datapoint that only a request has. A form has a field for the name or the expression. */
const DATAPOINT_FORMS =
  ', an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.';

/**
 * Changes a help text of the API for a form. There, null is an empty field, true is the choice yes, an effect of true
 * is the effect of the field, percent follows its number, and the active store is the served one.
 */
export const formatFormHelp = (help: string): string =>
  help
    .replaceAll(/\bNull: /g, 'Empty: ')
    .replaceAll(/\bTrue if /g, 'Yes if ')
    .replaceAll(/\bTrue (?!for )([a-z])/g, (_, first: string) => first.toUpperCase())
    .replaceAll(/\bNull\b/g, 'Empty')
    .replaceAll(/(\d) %/g, '$1%')
    .replace(DATAPOINT_FORMS, ' or an expression.')
    .replaceAll('active store', 'served store')
    .replaceAll('another store is active', 'another store is served');

export type Pair = readonly [name: string, value: string];

/**
 * Parses two columns of a table that was copied from a spreadsheet. Each line is a row; a tab, a semicolon or spaces
 * separate its cells. Further cells are ignored. If the first line has no number, it is a header.
 * @returns an empty list for a text that is not a table, such as a single name
 */
export function parsePastedPairs(text: string): readonly Pair[] {
  const rows = text
    .split(/\r?\n/)
    .map((line) => line.trim().split(/\t|;|\s{2,}|\s(?=[-+\d.,%]+$)/))
    .filter(([name = '']) => name !== '');
  if (rows.every((cells) => cells.length < 2)) return [];
  const pairs = rows.map(([name = '', value = '']): Pair => [name.trim(), value.trim().replaceAll(/[\s']/g, '')]);
  const [first, ...others] = pairs;
  return first !== undefined && others.length > 0 && !/\d/.test(first[1]) ? others : pairs;
}

/** Summarises the parameters that are set, such as `count 50, field MARKET_CAP`. */
export function formatSummary(
  { params }: JsonObject,
  parameters: readonly Pick<ParameterSpec, 'name' | 'label'>[],
): string {
  if (!isObject(params)) return '';
  const labels = new Map(parameters.map(({ name, label }) => [name, label]));
  return Object.entries(params)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${lowerFirst(labels.get(name) ?? formatLabel(name))} ${formatPart(value)}`)
    .join(', ');
}

/** Formats the value of a parameter: the items of a list, and the members of an object by their names. */
function formatPart(value: Json | undefined): string {
  if (Array.isArray(value)) return (value as readonly Json[]).map(formatPart).join(' and ');
  if (!isObject(value)) return value === true ? 'yes' : value === false ? 'no' : String(value);
  const formula = formatFormula(value);
  if (formula !== formatPlainText(value)) return formula;
  return Object.entries(value)
    .filter(([name]) => name !== 'node')
    .map(([name, part]) => `${name.replaceAll('_', ' ')} ${formatPart(part)}`)
    .join(' ');
}
