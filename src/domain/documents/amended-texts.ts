import { dayFrom, type Day } from '../time/days.js';
import { IndexDocument } from './index-document.js';
import type { Amendment } from './amendment.js';
import { mergePatch } from './index-questions.js';

/** A text of a methodology, and the day from which its reviews follow it. */
export interface IndexText {
  /** Position among the texts: 0 for the document before every amendment. */
  readonly position: number;
  /** -Infinity for the first. */
  readonly from: Day;
  /** The document with the changes so far, without its amendments. */
  readonly document: IndexDocument;
  /** What made it; null for the first. */
  readonly amendment: Amendment | null;
}

const known = new WeakMap<IndexDocument, readonly IndexText[]>();

/** The texts of an index, the earliest first. @cost nothing for a document that was asked before */
export function textsOf(document: IndexDocument): readonly IndexText[] {
  const { amendments } = document;
  if (amendments === undefined || amendments.length === 0)
    return [{ position: 0, from: -Infinity, document, amendment: null }];
  const found = known.get(document) ?? readTexts(document, amendments);
  known.set(document, found);
  return found;
}

function readTexts(whole: IndexDocument, amendments: readonly Amendment[]): IndexText[] {
  const { amendments: _ofLater, ...first } = whole;
  const texts: IndexText[] = [{ position: 0, from: -Infinity, document: first, amendment: null }];
  for (const [k, amendment] of amendments.entries()) {
    const document = IndexDocument.parse(amended(texts[k]!.document, amendment)); // Checked when it was saved.
    texts.push({ position: k + 1, from: dayFrom(amendment.effective_from), document, amendment });
  }
  return texts;
}

/** A body with the changes of an amendment. */
export function amended(body: object, { changes }: Pick<Amendment, 'changes'>): unknown {
  return mergePatch(body, changes);
}

/** The text in force on a day. */
export function textOn(document: IndexDocument, day: Day): IndexText {
  return textsOf(document).findLast(({ from }) => from <= day)!; // The first is always in force.
}

/** Whether something holds of any text of an index. */
export function isInAnyText(document: IndexDocument, holds: (text: IndexDocument) => boolean): boolean {
  return textsOf(document).some((text) => holds(text.document));
}

/** A document without the amendments that take effect after a date: what decides the sessions up to it. */
export function textThrough(document: IndexDocument, date: string): IndexDocument {
  const { amendments, ...rest } = document;
  if (amendments === undefined) return document;
  const kept = amendments.filter(({ effective_from: from }) => from <= date);
  return kept.length === 0 ? rest : { ...rest, amendments: kept };
}
