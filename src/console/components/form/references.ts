import type { Json } from '../../words/paths.js';

/** Words for the kinds of references. */
export const REFERENCE_WORDS: Readonly<Record<string, string>> = { index: 'Index', identifier: 'Security' };

/** Parts of a reference. */
export interface Reference {
  readonly [member: string]: Json;
  readonly kind: string;
  readonly id: string;
}

/** Splits `index:EQ` into its kind and id. Returns undefined for a text without a known kind. */
export function parseReference(text: string): Reference | undefined {
  const [, kind = '', id = ''] = /^([a-z]+):(.+)$/.exec(text) ?? [];
  return Object.hasOwn(REFERENCE_WORDS, kind) ? { kind, id } : undefined;
}

/** Word for an identifier that is a series and not a security. */
const SERIES_WORD = 'Series';

/**
 * Formats a reference in words: `index:EQ` becomes `Index EQ`. Other texts are unchanged.
 * @param suggestions suggested references. Identifiers among them are series
 */
export function formatReferenceText(text: string, suggestions: readonly string[]): string {
  const reference = parseReference(text);
  if (reference === undefined) return text;
  const { kind, id } = reference;
  return `${kind === 'identifier' && suggestions.includes(text) ? SERIES_WORD : REFERENCE_WORDS[kind]} ${id}`;
}

/**
 * Returns the reference that a typed text means: its words, or the id of a suggested reference. Other texts are
 * unchanged, so that the service reports an error.
 */
export function parseReferenceText(text: string, suggestions: readonly string[]): string {
  const [, word = '', id = ''] = /^(\w+) +(.+)$/.exec(text) ?? [];
  const isWord = (kindWord: string) => kindWord.toLowerCase() === word.toLowerCase();
  const kind = isWord(SERIES_WORD)
    ? 'identifier'
    : Object.keys(REFERENCE_WORDS).find((one) => isWord(REFERENCE_WORDS[one]!));
  if (kind !== undefined) return `${kind}:${id}`;
  return suggestions.find((suggestion) => parseReference(suggestion)?.id === text) ?? text;
}
