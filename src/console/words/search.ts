/** Search result: an address of the console, or an action. */
export interface Target {
  /** Address, or for an action a unique name. */
  readonly address: string;
  readonly text: string;
  /** Kind of the target, shown next to its text. */
  readonly kind: string;
  /** Alternative words by which the target is found. */
  readonly words?: string;
  /** Action that is run instead of opening the address. */
  readonly act?: () => unknown;
}

/**
 * Returns the targets that contain all typed words in any order. A word also matches if its letters occur in order with
 * gaps. Targets that start with the typed text come first.
 */
export function findTargets(targets: readonly Target[], typed: string): readonly Target[] {
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/);
  const computeRank = ({ text: title, kind, words: more = '' }: Target): number => {
    const lowerTitle = title.toLowerCase();
    const searchedText = `${lowerTitle} ${kind} ${more}`.toLowerCase();
    const ownWords = lowerTitle.split(/[\s_-]+/);
    if (!words.every((word) => searchedText.includes(word)))
      return words.every((word) => hasLetters(searchedText, word)) ? 4 : NO_MATCH_RANK;
    // If several words are typed, `core run` matches "Run CORE" better than "CORE Runs".
    if (words.length > 1 && words.every((word) => ownWords.includes(word) || lowerTitle === word)) return 0;
    if (lowerTitle.startsWith(text)) return 1;
    return ownWords.some((word) => word.startsWith(words[0]!)) ? 2 : 3; // every text has at least one word
  };
  return targets
    .map((target, order) => ({ target, order, place: computeRank(target) }))
    .filter(({ place }) => place !== NO_MATCH_RANK)
    .toSorted((a, b) => a.place - b.place || a.order - b.order)
    .map(({ target }) => target);
}

const NO_MATCH_RANK = 9;
/** Minimum number of letters for a match with gaps. Most texts contain any shorter sequence of letters. */
const LETTERS_MIN = 3;

/** Returns true if a word of the text starts with the first letter and the other letters follow in order. */
function hasLetters(text: string, letters: string): boolean {
  if (letters.length < LETTERS_MIN) return false;
  return text.split(/[\s_-]+/).some((word) => {
    if (word[0] !== letters[0]) return false;
    let position = 0;
    for (const letter of word) if (letter === letters[position]) position++;
    return position === letters.length;
  });
}
