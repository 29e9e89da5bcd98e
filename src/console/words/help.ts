/** `value`: meaning; the next. */
const MEANING = /`([^`]+)`:? ([^;]+?)(?:;|\.?$)/g;

/**
 * Returns the help of the selected choice from a text that lists all choices: the words before the list, and its
 * meaning.
 * @returns the unchanged help if it contains no such list
 */
export function helpOfChoice(help: string, chosen: string | undefined): string {
  if (chosen === undefined) return help;
  const list = help.indexOf('`');
  const meanings = new Map(
    [...help.slice(Math.max(0, list)).matchAll(MEANING)].map(([, name, words]) => [name, words]),
  );
  const meaning = meanings.get(chosen);
  return list < 0 || meanings.size < 2 || meaning === undefined
    ? help
    : `${help.slice(0, list)}\`${chosen}\`: ${meaning}.`;
}
