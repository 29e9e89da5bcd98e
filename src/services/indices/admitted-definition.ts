import type { IndexDocument } from '#domain/documents/index-document.js';
import { changesBetween } from '#domain/documents/document-changes.js';
import { readIndex } from '#domain/checks/validate-index.js';
import { logHead } from '#store/publication/log.js';
import type { DocumentReader } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import type { Requested } from '../approvals/approvals.js';

/** Maximum number of changes that a request lists for the persons who decide. */
const CHANGES_MAX = 200;

/**
 * Returns the request to change the definition of an index with published closes; undefined for other indices, and for
 * an unchanged definition.
 * @param after the definition to be written; null for a deletion
 */
export async function createDefinitionRequest(
  reader: Pick<DocumentReader, 'get'>,
  id: string,
  after: IndexDocument | null,
): Promise<Requested | undefined> {
  if ((await logHead(reader, id)) === undefined) return undefined;
  const stored = await reader.get('index', id);
  const before = readStored(stored, readIndex) ?? null;
  const changes = after === null ? [] : changesBetween(before ?? {}, after);
  if (after !== null && before !== null && changes.length === 0) return undefined;
  const added = amendmentsOf(after).slice(amendmentsOf(before).length);
  return {
    action: 'amend',
    subject: id,
    content: { before, after },
    summary: after === null ? `Delete ${id}.` : `Change the definition of ${id}.`,
    detail: { changes: changes.slice(0, CHANGES_MAX), total: changes.length, amendments: added },
  };
}

const amendmentsOf = (document: IndexDocument | null): readonly unknown[] => document?.amendments ?? [];
