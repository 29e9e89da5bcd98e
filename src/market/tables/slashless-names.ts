import type { Problems } from './problems.js';

/** Slash, and its form in the names of files and folders. */
const SLASH = /\/|%2f/gi;

/**
 * Returns an identifier with points in place of slashes, because identifiers must not contain slashes: BRK/B US Equity
 * becomes BRK.B US Equity.
 */
export const replaceSlashes = (identifier: string) => identifier.replaceAll(SLASH, '.');

/** Returns an identifier without slashes, and reports each renamed identifier once. */
export function restoreName(identifier: string, problems: Problems): string {
  const name = replaceSlashes(identifier);
  if (name === identifier) return name;
  const message = `${identifier.slice(0, 80)} is read as ${name.slice(0, 80)}: an identifier has no /.`;
  problems.warnOnce({ code: 'BAD_IDENTIFIER', path: `market.${name.slice(0, 80)}`, message, value: identifier });
  return name;
}
