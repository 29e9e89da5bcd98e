/** An item with its own address in the console. */
export interface Target {
  readonly address: string;
  readonly text: string;
  /** Kind of the item. */
  readonly kind: string;
}

/** Targets that have every word that was typed, in their text or kind; those that begin with what was typed come first. */
export function found(targets: readonly Target[], typed: string): readonly Target[] {
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/);
  const placeOf = (target: Target): number => {
    const own = target.text.toLowerCase();
    if (own.startsWith(text)) return 0;
    return own.split(/[\s_-]+/).some((word) => word.startsWith(words[0]!)) ? 1 : 2; // A text has at least one word.
  };
  return targets
    .filter(({ text: own, kind }) => words.every((word) => `${own} ${kind}`.toLowerCase().includes(word)))
    .map((target, order) => ({ target, order, place: placeOf(target) }))
    .toSorted((a, b) => a.place - b.place || a.order - b.order)
    .map(({ target }) => target);
}
