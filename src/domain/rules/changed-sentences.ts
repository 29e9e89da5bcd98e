/** Sentences of a methodology that a change removes and adds. */
export interface ChangedSentences {
  readonly removed: string[];
  readonly added: string[];
}

export const compareSentences = (before: readonly string[], after: readonly string[]): ChangedSentences => ({
  removed: subtractSentences(before, after),
  added: subtractSentences(after, before),
});

/** Returns the sentences that one list contains more often than another, as often as the difference. */
function subtractSentences(sentences: readonly string[], others: readonly string[]): string[] {
  const remainingSentences = [...others];
  return sentences.filter((sentence) => {
    const position = remainingSentences.indexOf(sentence);
    if (position !== -1) remainingSentences.splice(position, 1);
    return position === -1;
  });
}
