import { formatCount } from './numbers.js';

/** Lists the first names, for example `AAA, BBB and 2 more`. Returns an empty text if there are no names. */
export function formatFirstNames(names: readonly string[], namedMax: number): string {
  const restCount = names.length - namedMax;
  return names.slice(0, namedMax).join(', ') + (restCount > 0 ? ` and ${formatCount(restCount)} more` : '');
}
