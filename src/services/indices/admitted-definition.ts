import { FACTS_LISTED_MAX, type ChangedField, type DefinitionChange } from '#domain/approvals/approval-facts.js';
import { listTexts } from '#domain/documents/amended-texts.js';
import type { Amendment } from '#domain/documents/amendment.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { listChanges } from '#domain/documents/document-changes.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { compareSentences } from '#domain/rules/changed-sentences.js';
import { createMethodology } from '#domain/rules/methodology.js';
import { readIndex } from '#domain/checks/validate-index.js';
import { readLogHead } from '#store/publication/log.js';
import type { DocumentReader } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import type { ProposedChange } from '../approvals/approvals.js';

/**
 * Returns the request to change a definition if the index has published closes. Returns undefined for any other index,
 * and for an unchanged definition.
 * @param after new definition; null for a deletion
 */
export async function createDefinitionRequest(
  reader: Pick<DocumentReader, 'get'>,
  id: string,
  after: IndexDocument | null,
): Promise<ProposedChange | undefined> {
  if ((await readLogHead(reader, id)) === undefined) return undefined;
  const storedDocument = await reader.get('index', id);
  const storedIndex = readStored(storedDocument, readIndex) ?? null;
  if (after !== null && storedIndex !== null && listChanges(storedIndex, after).length === 0) return undefined;
  const changes = after === null ? [] : listDefinitionChanges(storedIndex, after);
  return {
    action: 'amend',
    subject: id,
    content: { before: storedIndex, after },
    summary: after === null ? `Delete ${id}.` : formatSummary(id, changes),
    facts: { kind: 'amend', index_id: id, deletes: after === null, changes },
  };
}

function formatSummary(id: string, changes: readonly DefinitionChange[]): string {
  if (changes.some(({ effective_from: from }) => from === null)) return `Change the definition of ${id}.`;
  const datesText = changes.map(({ effective_from: from }) => from).join(', ');
  return `Amend the definition of ${id} from ${datesText} on.`;
}

/**
 * Returns the changes of a definition: one entry if the whole history changes, and one entry per appended amendment.
 */
function listDefinitionChanges(before: IndexDocument | null, after: IndexDocument): DefinitionChange[] {
  const earlierAmendments = listAmendments(before);
  const isAmendmentAppended =
    toCanonicalJson(listAmendments(after).slice(0, earlierAmendments.length)) === toCanonicalJson(earlierAmendments);
  const [was, is] = isAmendmentAppended ? [removeAmendments(before), removeAmendments(after)] : [before, after];
  const ownChange = createDefinitionChange(was, is as IndexDocument); // the document lacks at most its amendments, which are optional
  const texts = listTexts(after);
  const amendmentChanges = (isAmendmentAppended ? listAmendments(after).slice(earlierAmendments.length) : []).map(
    (amendment, k) => {
      const [earlier, later] = [texts[earlierAmendments.length + k]!, texts[earlierAmendments.length + k + 1]!]; // a definition has one more text than amendments
      return createDefinitionChange(earlier.document, later.document, amendment);
    },
  );
  return ownChange.fields.length === 0 ? amendmentChanges : [ownChange, ...amendmentChanges];
}

function createDefinitionChange(
  before: object | null,
  after: IndexDocument,
  amendment: Partial<Amendment> = {},
): DefinitionChange {
  const { effective_from: from = null, announced = null, reason = null, rebalance = false } = amendment;
  const fields = listChanges(before ?? {}, after)
    .slice(0, FACTS_LISTED_MAX)
    .map(createField);
  const earlierSentences = before === null ? [] : createMethodology(before as IndexDocument); // the text was read as an amendment
  return {
    effective_from: from,
    announced,
    reason,
    rebalance,
    fields,
    ...compareSentences(earlierSentences, createMethodology(after)),
  };
}

const createField = ({ path, before, after }: Omit<ChangedField, 'field'>): ChangedField => ({
  field: formatPointer(path),
  path,
  before,
  after,
});

/** Formats a JSON pointer for people: `/pipeline/filters/0/max` becomes `Pipeline, filters, 1, max`. */
function formatPointer(path: string): string {
  const segments = path
    .split('/')
    .slice(1)
    .map((name) => (/^\d+$/.test(name) ? String(Number(name) + 1) : name.replaceAll('_', ' ')))
    .join(', ');
  return segments.charAt(0).toUpperCase() + segments.slice(1);
}

const listAmendments = (document: IndexDocument | null): readonly Amendment[] => document?.amendments ?? [];

function removeAmendments(document: IndexDocument | null): object | null {
  if (document === null) return null;
  const { amendments: _, ...rest } = document;
  return rest;
}
