import { parseValidDay, type Day } from '../time/days.js';
import { IndexDocument } from './index-document.js';
import type { Amendment } from './amendment.js';
import { mergePatch } from './index-questions.js';

/** Version of a methodology with the day from which its reviews follow it. */
export interface IndexText {
  /** Index of the version: 0 for the document before all amendments. */
  readonly position: number;
  /** Effective date of the version; -Infinity for the first version. */
  readonly from: Day;
  /** Document with all amendments up to this version applied, without its list of amendments. */
  readonly document: IndexDocument;
  /** Amendment that created the version; null for the first version. */
  readonly amendment: Amendment | null;
}

const textsByDocument = new WeakMap<IndexDocument, readonly IndexText[]>();

/** Returns the versions of an index, earliest first. @cost none for a document that was used before */
export function listTexts(document: IndexDocument): readonly IndexText[] {
  const { amendments } = document;
  if (amendments === undefined || amendments.length === 0)
    return [{ position: 0, from: -Infinity, document, amendment: null }];
  const result = textsByDocument.get(document) ?? readTexts(document, amendments);
  textsByDocument.set(document, result);
  return result;
}

function readTexts(base: IndexDocument, amendments: readonly Amendment[]): IndexText[] {
  const { amendments: _ofLater, ...first } = base;
  const texts: IndexText[] = [{ position: 0, from: -Infinity, document: first, amendment: null }];
  for (const [k, amendment] of amendments.entries()) {
    const document = IndexDocument.parse(amendText(texts[k]!.document, amendment)); // Documents are checked before they are saved.
    texts.push({ position: k + 1, from: parseValidDay(amendment.effective_from), document, amendment });
  }
  return texts;
}

/** Returns false if an amendment makes the document invalid. The checks of the document report the errors. */
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
export function findTextInEffect(document: IndexDocument, day: Day): IndexText {
  return listTexts(document).findLast(({ from }) => from <= day)!; // The first version is always in force.
}

/** Returns true if any version of an index satisfies a condition. */
export function isInAnyText(document: IndexDocument, holds: (text: IndexDocument) => boolean): boolean {
  return listTexts(document).some((text) => holds(text.document));
}

/**
 * Returns a document without the amendments that take effect after a date. The result determines the sessions up to
 * that date.
 */
export function omitLaterAmendments(document: IndexDocument, date: string): IndexDocument {
  const { amendments, ...rest } = document;
  if (amendments === undefined) return document;
  const effectiveAmendments = amendments.filter(({ effective_from: from }) => from <= date);
  return effectiveAmendments.length === 0 ? rest : { ...rest, amendments: effectiveAmendments };
}
