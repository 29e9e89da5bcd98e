import { textsOf } from '../documents/amended-texts.js';
import type { Amendment } from '../documents/amendment.js';
import type { IndexDocument } from '../documents/index-document.js';

/**
 * Which text applies when: the sentences that each amendment brings, and those that no longer hold.
 * @param sentencesOf methodology of one text
 */
export function amendmentSentences(
  document: IndexDocument,
  sentencesOf: (text: IndexDocument) => readonly string[],
): string[] {
  const texts = textsOf(document);
  return texts.slice(1).flatMap(({ document: text, amendment }, k) => {
    const before = sentencesOf(texts[k]!.document);
    const now = sentencesOf(text);
    const added = now.filter((sentence) => !before.includes(sentence));
    const removed = before.filter((sentence) => !now.includes(sentence));
    return [
      `${openingOf(amendment!)}:`, // Of every text but the first.
      ...removed.map((sentence) => `No longer: ${sentence}`),
      ...added.map((sentence) => `From then on: ${sentence}`),
    ];
  });
}

function openingOf({ effective_from: date, announced, reason, rebalance }: Amendment): string {
  const when =
    rebalance === true
      ? `On the first session on or after ${date} the index is rebalanced and follows an amended text`
      : `From the first review on or after ${date} the index follows an amended text`;
  const said = [
    ...(announced === undefined ? [] : [`announced on ${announced}`]),
    ...(reason === undefined ? [] : [reason]),
  ];
  return said.length === 0 ? when : `${when} (${said.join('; ')})`;
}
