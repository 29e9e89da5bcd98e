import type { Problems } from '../tables/problems.js';

/** Returns an identifier as vendors write it, which has no slash here: BRK/B US Equity is BRK.B US Equity. */
export const replaceSlashes = (identifier: string) => identifier.replaceAll('/', '.');

/** Renames columns with a slash, and reports each of them once. */
export function createSlashlessNames(problems: Problems): (identifier: string) => string {
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
