/** An item with its own address in the console, or an action. */
export interface Target {
  /** Address of the item; for an action, its name. */
  readonly address: string;
  readonly text: string;
  /** Kind of the item. */
  readonly kind: string;
  /** Done instead of going to the address. */
  readonly act?: () => unknown;
}

/**
 * Returns targets whose text or kind matches every typed word, in any order: as a substring, or letter by letter with
 * others between. Texts that begin with the typed text come first.
 */
export function found(targets: readonly Target[], typed: string): readonly Target[] {
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/);
  const placeOf = ({ text: own, kind }: Target): number => {
    const lower = own.toLowerCase();
    const whole = `${lower} ${kind}`.toLowerCase();
    if (!words.every((word) => whole.includes(word))) return words.every((word) => hasLetters(whole, word)) ? 3 : NONE;
    if (lower.startsWith(text)) return 0;
    return lower.split(/[\s_-]+/).some((word) => word.startsWith(words[0]!)) ? 1 : 2; // A text has at least one word.
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
