import { Judgement } from '#domain/daily-plans/judgement-document.js';
import { formatNumberedId } from '#store/document-id.js';
import type { DocumentStore } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';

/** Yields the latest `limit` decisions about a schedule, newest first. Skips decisions that are unreadable. */
export async function* readJudgements(
  documents: Pick<DocumentStore, 'get' | 'lastNumber'>,
  scheduleId: string,
  limit: number,
): AsyncGenerator<Judgement> {
  const last = await documents.lastNumber('judgement', scheduleId);
  for (let seq = last; seq > Math.max(0, last - limit); seq--) {
    const storedDocument = await documents.get('judgement', formatNumberedId(scheduleId, seq));
    const judgement = parseStored(storedDocument, Judgement);
    if (judgement !== undefined) yield judgement;
  }
}
