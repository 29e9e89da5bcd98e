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

/** Formats a reference in words: `index:EQ` becomes `Index EQ`. Other texts are unchanged. */
export function formatReferenceText(text: string): string {
  const reference = parseReference(text);
  return reference === undefined ? text : `${REFERENCE_WORDS[reference.kind]} ${reference.id}`;
}

/**
 * Returns the reference that a typed text means: its words, or the id of a suggested reference. Other texts are
 * unchanged, so that the service reports an error.
 */
export function parseReferenceText(text: string, suggestions: readonly string[]): string {
  const [, word = '', id = ''] = /^(\w+) +(.+)$/.exec(text) ?? [];
  const kind = Object.keys(REFERENCE_WORDS).find((one) => REFERENCE_WORDS[one]!.toLowerCase() === word.toLowerCase());
  if (kind !== undefined) return `${kind}:${id}`;
  return suggestions.find((suggestion) => parseReference(suggestion)?.id === text) ?? text;
}
