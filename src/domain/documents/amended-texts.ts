import { parseValidDay, type Day } from '../time/days.js';
import { IndexDocument } from './index-document.js';
import type { Amendment } from './amendment.js';
import { mergePatch } from './index-questions.js';

/** Version of a methodology, and the day from which its reviews follow it. */
export interface IndexText {
  /** Position among the versions: 0 for the document before every amendment. */
  readonly position: number;
  /** -Infinity for the first. */
  readonly from: Day;
  /** Document with the amendments up to this version applied, and without its list of amendments. */
  readonly document: IndexDocument;
  /** Amendment that created it; null for the first. */
  readonly amendment: Amendment | null;
}

const known = new WeakMap<IndexDocument, readonly IndexText[]>();

/** Returns the versions of an index, earliest first. @cost none for a document used before */
export function listTexts(document: IndexDocument): readonly IndexText[] {
  const { amendments } = document;
  if (amendments === undefined || amendments.length === 0)
    return [{ position: 0, from: -Infinity, document, amendment: null }];
  const result = known.get(document) ?? readTexts(document, amendments);
  known.set(document, result);
  return result;
}

function readTexts(whole: IndexDocument, amendments: readonly Amendment[]): IndexText[] {
  const { amendments: _ofLater, ...first } = whole;
  const texts: IndexText[] = [{ position: 0, from: -Infinity, document: first, amendment: null }];
  for (const [k, amendment] of amendments.entries()) {
    const document = IndexDocument.parse(amendText(texts[k]!.document, amendment)); // It was checked before it was saved.
    texts.push({ position: k + 1, from: parseValidDay(amendment.effective_from), document, amendment });
  }
  return texts;
}

/** Returns false if an amendment makes a document invalid, which its checks report. */
export function hasValidTexts({ amendments = [], ...first }: IndexDocument): boolean {
  let text: unknown = first;
  return amendments.every(
    (amendment) => IndexDocument.safeParse((text = amendText(text as object, amendment))).success,
  );
}

/** Applies the changes of an amendment to a body. */
export function amendText(body: object, { changes }: Pick<Amendment, 'changes'>): unknown {
  return mergePatch(body, changes);
}

/** Returns the version in force on a day. */
export function findTextOn(document: IndexDocument, day: Day): IndexText {
  return listTexts(document).findLast(({ from }) => from <= day)!; // The first is always in force.
}

/** Returns true if any version of an index satisfies a condition. */
export function isInAnyText(document: IndexDocument, holds: (text: IndexDocument) => boolean): boolean {
  return listTexts(document).some((text) => holds(text.document));
}

/**
 * Returns a document without the amendments that take effect after a date. It determines the sessions up to that date.
 */
export function omitLaterAmendments(document: IndexDocument, date: string): IndexDocument {
  const { amendments, ...rest } = document;
  if (amendments === undefined) return document;
  const kept = amendments.filter(({ effective_from: from }) => from <= date);
  return kept.length === 0 ? rest : { ...rest, amendments: kept };
}
