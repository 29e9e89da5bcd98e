import { formatCompareAddress } from './addresses.js';

/** Tabs of the page of a store, in order. The first tab is open at first. */
export const STORE_PARTS = [
  { id: 'overview', text: 'Overview' },
  { id: 'doubts', text: 'Warnings' },
  { id: 'coverage', text: 'Coverage' },
  { id: 'names', text: 'Securities' },
  { id: 'overrides', text: 'Overrides' },
  { id: 'versions', text: 'Versions' },
] as const;

/** Search result: an address of the console, or an action. */
export interface Target {
  /** Address, or for an action a unique name. */
  readonly address: string;
  /** Title; for a document its id. */
  readonly text: string;
  /** Name of a document, shown after its id. */
  readonly name?: string;
  /** Kind of the target, shown next to its text. */
  readonly kind: string;
  /** Alternative words by which the target is found. */
  readonly words?: string;
  /** Title of the tab, and alternative words, if the target is a tab of a document. */
  readonly tab?: string;
  /** Action that is run instead of opening the address. */
  readonly act?: () => unknown;
}

/**
 * Returns the targets that match all typed words in any order. A word also matches if its letters occur with gaps in
 * one or several words of the target: `uslrg` finds `US Large`. A target whose title is the typed text comes first, then
 * titles and names that start with it, then starts of words, then letters within words. Within each of the last two,
 * titles precede kinds and alternative words. Matches with gaps come last. A tab that no word names follows all other
 * matches, and only a few are listed.
 * @param others matches of another search, which follow those of this one
 */
export function findTargets(
  targets: readonly Target[],
  typed: string,
  others: readonly Target[] = [],
): readonly Target[] {
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/);
  const computeRank = (target: Target): number => {
    const { kind, words: more = '' } = target;
    const lowerTitle = formatTarget(target).toLowerCase();
    const searchedText = `${lowerTitle} ${kind} ${more}`.toLowerCase();
    const ownWords = splitWords(lowerTitle);
    const missing = words.filter((word) => !searchedText.includes(word));
    if (missing.length > 0) {
      const searchedWords = splitWords(searchedText);
      return missing.reduce((rank, word) => rank + computeGapCost(searchedWords, word), GAP_RANK);
    }
    // If several words are typed, `core run` matches "Run CORE" better than "CORE Runs".
    if (words.length > 1 && words.every((word) => ownWords.includes(word) || lowerTitle === word)) return 0;
    if (target.text.toLowerCase() === text) return 0;
    if (lowerTitle.startsWith(text) || target.name?.toLowerCase().startsWith(text) === true) return 1;
    const ranks = words.map((word) =>
      startsWord(lowerTitle, word) ? 2 : startsWord(searchedText, word) ? 3 : lowerTitle.includes(word) ? 4 : 5,
    );
    return Math.max(...ranks);
  };
  const matches = targets
    .map((target, order) => ({ target, order, place: computeRank(target) }))
    .filter(({ place }) => place !== Infinity)
    .toSorted((a, b) => a.place - b.place || a.order - b.order)
    .map(({ target }) => target);
  const isNamed = ({ tab }: Target) => tab === undefined || words.some((word) => startsWord(tab.toLowerCase(), word));
  const unnamedTabs = matches.filter((target) => !isNamed(target));
  return [...matches.filter(isNamed), ...others, ...unnamedTabs.slice(0, UNNAMED_TABS_MAX)];
}

/** Maximum number of tabs that are found by their document only. */
const UNNAMED_TABS_MAX = 3;

/** Returns the title of a target; for a document its id and its name. */
export const formatTarget = ({ text, name }: Target): string => (name === undefined ? text : `${text} ${name}`);

const startsWord = (text: string, letters: string): boolean =>
  ` ${text}`.replaceAll(/[_-]/g, ' ').includes(` ${letters.replaceAll(/[_-]/g, ' ')}`);

const splitWords = (text: string): readonly string[] => text.split(/[\s_-]+/);

/** Rank of matches with gaps, after all matches without. */
const GAP_RANK = 5;
/** Minimum number of letters for a match with gaps. Most texts contain any shorter sequence of letters. */
const LETTERS_MIN = 3;
/** Maximum number of words that a match with gaps uses. It bounds the search. */
const GAP_WORDS_MAX = 4;

/**
 * Returns the cost of a match with gaps: one for each word that is used and one for each that is out of order. A used
 * word starts with the next letter and contains further letters in order. Returns infinity if there is no match.
 */
function computeGapCost(words: readonly string[], letters: string): number {
  if (letters.length < LETTERS_MIN) return Infinity;
  const used = new Set<number>();
  const search = (start: number, previous: number): number => {
    if (start === letters.length) return 0;
    if (used.size === GAP_WORDS_MAX) return Infinity;
    let best = Infinity;
    words.forEach((word, k) => {
      if (used.has(k) || word[0] !== letters[start]) return;
      used.add(k);
      for (let end = findPrefixEnd(word, letters, start); end > start; end--)
        best = Math.min(best, (k < previous ? 2 : 1) + search(end, k));
      used.delete(k);
    });
    return best;
  };
  return search(0, -1);
}

/** Returns the end of the longest sequence of letters from `start` that the word contains in order. */
function findPrefixEnd(word: string, letters: string, start: number): number {
  let end = start;
  for (const letter of word) if (letter === letters[end]) end++;
  return end;
}

/** Returns the action that compares the indices named by a text such as `compare CORE-40 EW`. Ids are complete. */
export function suggestComparisons(text: string, indices: readonly { readonly id: string }[]): readonly Target[] {
  const [verb = '', ...words] = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => !['and', 'with', 'vs', ''].includes(word));
  if (verb.length < 4 || !'compare'.startsWith(verb)) return [];
  const found = words.map((word) => indices.find(({ id }) => id.toLowerCase() === word)?.id);
  const ids = [...new Set(found)].filter((id) => id !== undefined);
  if (ids.length < 2 || found.includes(undefined)) return [];
  return [{ address: formatCompareAddress(ids), text: `Compare ${ids.join(', ')}`, kind: 'action' }];
}
