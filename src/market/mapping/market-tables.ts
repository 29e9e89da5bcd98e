import type { Mapping } from '#domain/documents/mapping.js';

/**
 * Whether a file, sheet or table that is called like no dataset is one of the mapped market.
 * @param name without folders
 */
export function isMarketTable({ fields, identifier_from: from, ignore }: Mapping, name: string): boolean {
  if (ignore.includes(name)) return false;
  if (Object.keys(fields).length > 0) return Object.hasOwn(fields, name);
  return from === null || from === 'column' || identifierOfFile(from, name) !== undefined;
}

/** The identifier that a file's name says by the pattern of a mapping; undefined where it is another name. */
export function identifierOfFile(pattern: string, name: string): string | undefined {
  const [before = '', after = ''] = pattern.slice('file:'.length).split('{identifier}');
  const isLike = name.startsWith(before) && name.endsWith(after) && name.length > before.length + after.length;
  return isLike ? name.slice(before.length, name.length - after.length) : undefined;
}

/** Whether a market can be read as one without a mapping is, once its columns have their names. */
export function hasPlainRows({ layout, identifier_from: from, ...mapping }: Mapping): boolean {
  return (
    layout === 'long' &&
    (from === null || from === 'column') &&
    mapping.date_format === null &&
    mapping.decimal === '.' &&
    mapping.thousands === null &&
    mapping.on_duplicate === 'refuse' &&
    mapping.zero_prices === 'refuse' &&
    mapping.negative_prices === 'refuse'
  );
}
