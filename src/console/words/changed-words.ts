/** Sentence in three parts: the words before a change, the changed words, and the words after it. */
type MarkedWord = readonly [before: string, changed: string, after: string];

/**
 * Marks the words in which a sentence differs from the most similar one of other sentences. If it shares less than half
 * of its words with each of them, the whole sentence is marked.
 */
export function markChange(text: string, others: readonly string[]): MarkedWord {
  const words = text.split(/(?<= )/);
  let best: readonly [start: number, end: number] = [0, words.length];
  for (const other of others) {
    const otherWords = other.split(/(?<= )/);
    const sharedCount = Math.min(words.length, otherWords.length);
    let start = 0;
    while (start < sharedCount && words[start] === otherWords[start]) start++;
    let after = 0;
    while (after < sharedCount - start && words.at(-1 - after) === otherWords.at(-1 - after)) after++;
    if (start + after > words.length - (best[1] - best[0])) best = [start, words.length - after];
  }
  const [start, end] = 2 * (best[1] - best[0]) > words.length ? [0, words.length] : best;
  return [words.slice(0, start).join(''), words.slice(start, end).join(''), words.slice(end).join('')];
}
