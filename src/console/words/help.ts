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

/** Returns help of the API as help of a form, in which an empty field is null, and a condition is chosen by yes. */
export const formHelp = (help: string): string =>
  help
    .replaceAll(/\bNull: /g, 'Empty: ')
    .replaceAll(/\bTrue if /g, 'Yes if ')
    .replaceAll(/\bNull\b/g, 'Empty');
