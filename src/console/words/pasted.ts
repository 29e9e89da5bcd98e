/** A name with its value. */
export type Pair = readonly [name: string, value: string];

/**
 * Parses two columns of a table that was copied from a spreadsheet. Each line is a row; a tab, a semicolon or spaces
 * separate its cells. Further cells are ignored. If the first line has no number, it is a header.
 * @returns an empty list for a text that is not a table, such as a single name
 */
export function parsePastedPairs(text: string): readonly Pair[] {
  const rows = text
    .split(/\r?\n/)
    .map((line) => line.trim().split(/\t|;|\s{2,}|\s(?=[-+\d.,%]+$)/))
    .filter(([name = '']) => name !== '');
  if (rows.every((cells) => cells.length < 2)) return [];
  const pairs = rows.map(([name = '', value = '']): Pair => [name.trim(), value.trim().replaceAll(/[\s']/g, '')]);
  const [first, ...others] = pairs;
  return first !== undefined && others.length > 0 && !/\d/.test(first[1]) ? others : pairs;
}
