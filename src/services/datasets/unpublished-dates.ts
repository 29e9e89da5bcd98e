import type { RefreshPayload } from '#domain/jobs/payloads.js';
import { parseValidDay } from '#domain/time/days.js';
import type { UnpublishedDates } from '#market/content/judged-securities.js';
import type { DocumentReader } from '#store/port.js';
import { findPublishedThrough } from '../stored/run-list.js';

/**
 * Returns the dates of a store that no published close has used: those after the last close that was published on the
 * store. If none was, a refresh of a schedule counts those from its day on. On this day, the securities that only a
 * check holds back were not published either, although other indices may be.
 */
export async function findUnpublishedDates(
  documents: Pick<DocumentReader, 'get' | 'ids'>,
  datasetId: string,
  day: RefreshPayload['day'],
): Promise<UnpublishedDates> {
  const publishedThrough = await findPublishedThrough(documents, datasetId);
  const dayFrom = day === undefined ? null : parseValidDay(day.date);
  return {
    from: publishedThrough === null ? dayFrom : parseValidDay(publishedThrough) + 1,
    held: day === undefined || dayFrom === null ? null : { identifiers: day.held, from: dayFrom },
  };
}
