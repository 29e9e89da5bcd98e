import type { Problems } from '../tables/problems.js';

/**
 * Returns an identifier with points in place of slashes, because identifiers must not contain slashes: BRK/B US Equity
 * becomes BRK.B US Equity.
 */
export const replaceSlashes = (identifier: string) => identifier.replaceAll('/', '.');

/** Returns a function that replaces slashes in identifiers, and reports each renamed identifier once. */
export function createNameRestorer(problems: Problems): (identifier: string) => string {
  const reports = new Set<string>();
  return (identifier) => {
    const name = replaceSlashes(identifier);
    if (name === identifier || reports.has(identifier)) return name;
    reports.add(identifier);
    const message = `${identifier} is read as ${name}: an identifier has no /.`;
    problems.warning({ code: 'BAD_IDENTIFIER', path: `market.${name}`, message, value: identifier });
    return name;
  };
}
