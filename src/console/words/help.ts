/** Matches a choice and its meaning in a help text: `value`: meaning. */
const CHOICE_MEANING = /`([^`]+)`:? ([^;]+?)(?:;|\.?$)/g;

/**
 * Returns the help for the selected choice, from a help text that lists several choices: the text before the list, and
 * the meaning of the choice.
 * @returns the unchanged help text if it contains no such list
 */
export function findChoiceHelp(help: string, chosen: string | undefined): string {
  if (chosen === undefined) return help;
  const list = help.indexOf('`');
  const meanings = new Map(
    [...help.slice(Math.max(0, list)).matchAll(CHOICE_MEANING)].map(([, name, words]) => [name, words]),
  );
  const meaning = meanings.get(chosen);
  return list < 0 || meanings.size < 2 || meaning === undefined
    ? help
    : `${help.slice(0, list)}\`${chosen}\`: ${meaning}.`;
}

/**
 * Replaces names between backticks by the words of the form. Names without words are unchanged.
 * @param words label of each field, and text of each choice, by name
 */
export const writeNames = (help: string, words: ReadonlyMap<string, string>): string =>
  help.replaceAll(/`([^`]+)`/g, (code, name: string) => words.get(name) ?? code);

/** Forms of a datapoint that only a request has. A form has a field for the name or the expression. */
const DATAPOINT_FORMS =
  ', an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.';

/**
 * Changes a help text of the API for a form. There, null is an empty field, true is the choice yes, an effect of true
 * is the effect of the field, percent follows its number, and the active store is the served one.
 */
export const formatFormHelp = (help: string): string =>
  help
    .replaceAll(/\bNull: /g, 'Empty: ')
    .replaceAll(/\bTrue if /g, 'Yes if ')
    .replaceAll(/\bTrue (?!for )([a-z])/g, (_, first: string) => first.toUpperCase())
    .replaceAll(/\bNull\b/g, 'Empty')
    .replaceAll(/(\d) %/g, '$1%')
    .replace(DATAPOINT_FORMS, ' or an expression.')
    .replaceAll('active store', 'served store')
    .replaceAll('another store is active', 'another store is served');
