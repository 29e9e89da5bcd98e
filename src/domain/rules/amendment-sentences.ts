import { listTexts } from '../documents/amended-texts.js';
import type { Amendment } from '../documents/amendment.js';
import type { IndexDocument } from '../documents/index-document.js';

/**
 * Describes when each version applies, with the sentences that each amendment adds and removes.
 * @param sentencesOf returns the methodology of one version
 */
export function describeAmendments(
  document: IndexDocument,
  sentencesOf: (text: IndexDocument) => readonly string[],
): string[] {
  const texts = listTexts(document);
  return texts.slice(1).flatMap(({ document: text, amendment }, k) => {
    const before = sentencesOf(texts[k]!.document);
    const after = sentencesOf(text);
    const addedSentences = after.filter((sentence) => !before.includes(sentence));
    const removedSentences = before.filter((sentence) => !after.includes(sentence));
    return [
      `${describeOpening(amendment!)}:`, // every version except the first has an amendment
      ...removedSentences.map((sentence) => `No longer applies: ${sentence}`),
      ...addedSentences.map((sentence) => `New: ${sentence}`),
    ];
  });
}

function describeOpening({ effective_from: date, announced, reason, rebalance }: Amendment): string {
  const effectPhrase =
    rebalance === true
      ? `On the first session on or after ${date} the index is rebalanced and follows an amended version`
      : `From the first review on or after ${date} the index follows an amended version`;
  const messages = [
    ...(announced === undefined ? [] : [`announced on ${announced}`]),
    ...(reason === undefined ? [] : [reason]),
  ];
  return messages.length === 0 ? effectPhrase : `${effectPhrase} (${messages.join('; ')})`;
}
