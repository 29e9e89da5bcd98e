/** An item with its own address in the console, or an action. */
export interface Target {
  /** Address of the item; for an action, its name. */
  readonly address: string;
  readonly text: string;
  /** Kind of the item. */
  readonly kind: string;
  /** Other words by which it is found. */
  readonly words?: string;
  /** Done instead of going to the address. */
  readonly act?: () => unknown;
}

/**
 * Returns targets whose text, kind or other words match every typed word, in any order: as a substring, or letter by letter with
 * others between. Texts that begin with the typed text come first.
 */
export function findTargets(targets: readonly Target[], typed: string): readonly Target[] {
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/);
  const placeOf = ({ text: title, kind, words: more = '' }: Target): number => {
    const lower = title.toLowerCase();
    const whole = `${lower} ${kind} ${more}`.toLowerCase();
    const own = lower.split(/[\s_-]+/);
    if (!words.every((word) => whole.includes(word))) return words.every((word) => hasLetters(whole, word)) ? 4 : NONE;
    // With several words, `core run` matches "Run CORE" rather than "CORE Runs".
    if (words.length > 1 && words.every((word) => own.includes(word) || lower === word)) return 0;
    if (lower.startsWith(text)) return 1;
    return own.some((word) => word.startsWith(words[0]!)) ? 2 : 3; // A text has at least one word.
  };
  return targets
    .map((target, order) => ({ target, order, place: placeOf(target) }))
    .filter(({ place }) => place !== NONE)
    .toSorted((a, b) => a.place - b.place || a.order - b.order)
    .map(({ target }) => target);
}

const NONE = 9;
/** Fewer letters are in most texts. */
const LETTERS_MIN = 3;

/** Returns true if a word of the text begins with the first letter and contains the others in order. */
function hasLetters(text: string, letters: string): boolean {
  if (letters.length < LETTERS_MIN) return false;
  return text.split(/[\s_-]+/).some((word) => {
    if (word[0] !== letters[0]) return false;
    let at = 0;
    for (const letter of word) if (letter === letters[at]) at++;
    return at === letters.length;
  });
}
