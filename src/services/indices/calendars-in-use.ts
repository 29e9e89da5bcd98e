import type { DocumentStore } from '#store/port.js';
import { readIndex } from '#domain/checks/validate-index.js';

/** Codes of the calendars that stored indices are on, in order. @cost reads every stored index */
export async function calendarsInUse(documents: Pick<DocumentStore, 'list'>): Promise<string[]> {
  const { documents: codes } = await documents.list('index', (body) => readIndex(body)?.calendar);
  return [...new Set(codes)].toSorted();
}
