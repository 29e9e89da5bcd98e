import type { Mapping } from '#domain/documents/mapping.js';
import { readText, type Heading } from '../formats/cells.js';

/**
 * Returns true if a file, sheet or table that is not named like a dataset belongs to the mapped market.
 * @param name without folders
 */
export function isMarketTable({ fields, identifier_from: from, ignore }: Mapping, name: string): boolean {
  if (ignore.includes(name)) return false;
  if (Object.keys(fields).length > 0) return Object.hasOwn(fields, name);
  return from?.startsWith('file:') !== true || findFileIdentifier(from, name) !== undefined;
}

/** Returns the identifier in a file name by the pattern of a mapping. Returns undefined if the name does not match. */
export function findFileIdentifier(pattern: string, name: string): string | undefined {
  const [before = '', after = ''] = pattern.slice('file:'.length).split('{identifier}');
  const isLike = name.startsWith(before) && name.endsWith(after) && name.length > before.length + after.length;
  return isLike ? name.slice(before.length, name.length - after.length) : undefined;
}

/** Returns true if all rows of a table belong to one security. The name or heading of the table states the security. */
export const isWholeName = ({ identifier_from: from }: Mapping): boolean => /^(file|heading):/.test(from ?? '');

/** Returns the identifier of a table from its name or heading. Returns undefined if neither states it. */
export function findTableIdentifier(from: string, name: string, heading: Heading): string | undefined {
  if (from.startsWith('file:')) return findFileIdentifier(from, name);
  return findLabelledValue(from.slice('heading:'.length), heading);
}

/** Returns the value next to a label above the table: `Security | AAPL US Equity`. */
export function findLabelledValue(label: string, heading: Heading): string | undefined {
  for (const row of heading) {
    const position = row.findIndex((text) => normaliseLabel(text) === normaliseLabel(label));
    const value = position < 0 ? undefined : row.slice(position + 1).find((text) => readText(text) !== null);
    if (value !== undefined) return value.trim();
  }
  return undefined;
}

const normaliseLabel = (text: string) => text.trim().replace(/:$/, '').toLowerCase();

/** Returns true if a mapping concerns only columns, so that rows are read as without a mapping. */
export function hasPlainRows({ layout, identifier_from: from, ...mapping }: Mapping): boolean {
  return (
    layout === 'long' &&
    (from === null || from === 'column') &&
    mapping.date_format === null &&
    mapping.time_zone === null &&
    mapping.decimal === '.' &&
    mapping.thousands === null &&
    mapping.units === 'refuse' &&
    mapping.price_divisor === 1 &&
    mapping.on_duplicate === 'refuse' &&
    mapping.zero_prices === 'refuse' &&
    mapping.negative_prices === 'refuse'
  );
}

/** Name of a column of a table without a header: its position, counted from 1. */
const POSITION = /^#[1-9]\d*$/;

/** Returns true if a mapping names its columns by position, because the tables have no header. */
export const isHeaderless = (columns: Mapping['columns'] | undefined): boolean => {
  const names = Object.values(columns ?? {});
  return names.length > 0 && names.every((name) => POSITION.test(name));
};

/** Returns the names of columns by position: #1, #2 and so on. */
export const namePositions = (count: number): string[] => Array.from({ length: count }, (_, i) => `#${i + 1}`);
