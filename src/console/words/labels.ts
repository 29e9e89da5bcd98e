import { isObject, valueAt, type JsonObject, type Path } from './paths.js';

/** `date_format` reads `Date format`, `index_id` `Index`, `aum` `AUM`. */
export function labelOf(name: string): string {
  const words = name
    .replace(/_(?:id|bps)$/, '')
    .replaceAll('_', ' ')
    .replaceAll(/\b(?:aum|adv|fx)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns true for a step of a path that has no words. */
export const isUnsaid = (step: string | number): boolean => step === 'pipeline' || step === 'params';

/**
 * Formats a path: `Selection, top-n, Count` for `pipeline.selection[1].params.count`. Rows without a name are counted
 * from 1.
 * @param document whose rows are named; if it is unknown, they are counted
 */
export function pathWords(path: Path, document: JsonObject | undefined): string {
  const steps = path.flatMap((step, at) => {
    if (isUnsaid(step)) return [];
    if (typeof step === 'string') return [labelOf(step)];
    const item = valueAt(document, path.slice(0, at + 1));
    return [isObject(item) ? String(item['id'] ?? item['type'] ?? step + 1) : String(step + 1)];
  });
  return steps.length === 0 ? 'All of it' : steps.join(', ');
}

/** Members whose texts are choices of the contract. */
const CHOSEN: ReadonlySet<string | number | undefined> = new Set(['rebalance', 'treatment']);

/** Formats a text of a document: a choice or a type reads as words (`BufferedTopN` as `Buffered top N`), others are unchanged. */
export function choiceWords(path: Path, text: string): string {
  if (path.at(-1) === 'type')
    return text.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').replaceAll(/ [A-Z](?=[a-z])/g, (word) => word.toLowerCase());
  return CHOSEN.has(path.at(-2)) ? text.replaceAll('_', ' ') : text;
}

/** Returns the steps of a JSON pointer. @source RFC 6901 */
export const pathOfPointer = (pointer: string): Path =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')));

/** Returns a factor as a label: `MARKET` reads `Market`, `BOOK_TO_PRICE` `Book to price`; a sector is unchanged. */
export const factorLabel = (factor: string): string =>
  /^[A-Z][A-Z_]+$/.test(factor) ? labelOf(factor.toLowerCase()) : factor;
