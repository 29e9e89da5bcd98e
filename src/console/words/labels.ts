import type { PerformanceView } from '#clients/typescript/divisor.js';
import { getValueAt, isObject, type JsonObject, type Path } from './paths.js';

/**
 * Formats the name of a member: `date_format` becomes `Date format`, `index_id` becomes `Index`, and `aum` becomes
 * `AUM`.
 */
export function formatLabel(name: string): string {
  const words = name
    .replace(/_(?:id|bps)$/, '')
    .replaceAll('_', ' ')
    .replaceAll(/\b(?:aum|adv|fx|isin|cusip|sedol|figi|lei|ric|gics|esg)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Writes the first letter of a label in lower case, except that of an abbreviation. */
export const lowerFirst = (label: string): string => label.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase());

/** Returns true for a step of a path that labels leave out. */
export const isUnsaid = (step: string | number): boolean => step === 'pipeline' || step === 'params';

/**
 * Formats a path: `pipeline.selection[1].params.count` becomes `Selection, top-n, Count`.
 * @param document document that provides the names of rows; rows without a name are counted from 1
 */
export function formatPathLabel(path: Path, document: JsonObject | undefined): string {
  const steps = path.flatMap((step, position) => {
    if (isUnsaid(step)) return [];
    if (typeof step === 'string') return [formatLabel(step)];
    const item = getValueAt(document, path.slice(0, position + 1));
    return [isObject(item) ? String(item['id'] ?? item['type'] ?? step + 1) : String(step + 1)];
  });
  return steps.length === 0 ? 'All of it' : steps.join(', ');
}

/** Members whose texts are choices that the contract defines. */
const CHOICE_MEMBERS: ReadonlySet<string | number | undefined> = new Set(['rebalance', 'treatment']);

/**
 * Formats a text value of a document. A choice or type is written as words (`BufferedTopN` becomes `Buffered top N`);
 * other texts are unchanged.
 */
export function formatChoice(path: Path, text: string): string {
  if (path.at(-1) === 'type')
    return text.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').replaceAll(/ [A-Z](?=[a-z])/g, (word) => word.toLowerCase());
  return CHOICE_MEMBERS.has(path.at(-2)) ? formatWords(text) : text;
}

/** Formats a choice as words: `third_friday` becomes `third Friday`. */
export const formatWords = (choice: string): string => choice.replaceAll('_', ' ').replace('friday', 'Friday');

/**
 * Parses a JSON pointer.
 * @source RFC 6901
 */
export const parsePointer = (pointer: string): Path =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')));

/**
 * Formats the name of a factor: `MARKET` becomes `Market`, and `BOOK_TO_PRICE` becomes `Book to price`. The name of a
 * sector is unchanged.
 */
export const formatFactor = (factor: string): string =>
  /^[A-Z][A-Z_]+$/.test(factor) ? formatLabel(factor.toLowerCase()) : factor;

type Variant = PerformanceView['return_variant'] | 'raw';

const RETURNS: Readonly<Record<Variant, string>> = {
  price: 'price return',
  total: 'total return',
  net: 'net total return',
  raw: 'unadjusted levels',
};

/** Returns the label of a return variant, for example `price return`. */
export const returnText = (variant: Variant): string => RETURNS[variant];

/**
 * Formats a name with its return variant, for example `EQ, price return`. If the variant is unknown, returns only the
 * name.
 */
export const addReturn = (name: string, variant: Variant | null | undefined): string =>
  variant === null || variant === undefined ? name : `${name}, ${returnText(variant)}`;
