import { formatDay, type Day } from '#domain/time/days.js';
import type { Problem } from './problems.js';

/** Describes a cell without a valid identifier. @param text null if it is empty */
export function describeBadIdentifier(path: string, text: string | null): Problem {
  if (text === null) return { code: 'BAD_IDENTIFIER', path, message: 'The identifier is empty.' };
  return {
    code: 'BAD_IDENTIFIER',
    path,
    message: `${quoteText(text)} is not an identifier, which has 1 to 64 characters and no control characters.`,
    value: text,
  };
}

/** Describes a cell without a valid day. @param column as written in the file. @param text null if it is empty */
export function describeBadDay(path: string, column: string, text: string | null, format = 'YYYY-MM-DD'): Problem {
  if (text === null) return { code: 'BAD_DATE', path, message: `${column} is empty.` };
  return {
    code: 'BAD_DATE',
    path,
    message: `${column} is ${quoteText(text)}; a day that exists, ${format}, is needed.`,
    value: text,
  };
}

/**
 * Describes a market row with the same keys as an earlier row.
 * @param earlier location of the earlier row and comparison of its values, if known
 */
export function describeRepeatedKey(path: string, identifier: string, day: Day, earlier?: EarlierRow): Problem {
  const earlierText =
    earlier === undefined ? '' : `: ${earlier.path}, with ${earlier.isSame ? 'the same' : 'other'} values`;
  const message = `An earlier row already holds ${identifier} on ${formatDay(day)}${earlierText}.`;
  return { code: 'DUPLICATE_KEY', path, message };
}

/** Earlier row with the same keys as a later row. */
export interface EarlierRow {
  readonly path: string;
  readonly isSame: boolean;
}

/** Returns the message for a price of zero or less. The message names the mapping that accepts it. */
export function formatNonPositivePrice(column: string, value: number): string {
  const option = value < 0 ? 'negative_prices: absolute reads its amount' : 'zero_prices: missing reads it as none';
  return `${column} is ${value}; a price must be greater than 0. In a mapping, ${option}.`;
}

/** Quotes a text of a file for a message. */
export function quoteText(text: string): string {
  return JSON.stringify(text.length <= 80 ? text : `${text.slice(0, 77)}...`);
}
