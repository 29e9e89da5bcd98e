import type { DataVersions as DataVersionList } from '#contract/stores/data-versions.js';
import { DataVersionDocument, type DataHistoryDocument } from '#domain/documents/data-version-document.js';
import { formatNumberedId } from '#store/document-id.js';
import type { DocumentReader, UnreadableCause } from '#store/port.js';
import { countSkipped } from '../shared/skipped.js';
import { getFirst } from '../stored/data-history.js';

type Reader = Pick<DocumentReader, 'get'>;

/**
 * Returns a version of a data store, or the reason why the version is unreadable. Returns undefined if there is no
 * version with this number.
 */
export async function readStoredVersion(
  reader: Reader,
  datasetId: string,
  version: number,
): Promise<DataVersionDocument | UnreadableCause | undefined> {
  const storedDocument = await reader.get('data-version', formatNumberedId(datasetId, version));
  if (storedDocument === undefined) return undefined;
  return 'unreadable' in storedDocument
    ? storedDocument.unreadable
    : (DataVersionDocument.safeParse(storedDocument.body).data ?? 'invalid');
}

interface ListedQuery {
  readonly head: DataHistoryDocument | undefined;
  readonly limit: number;
  readonly before?: number | undefined;
}

/** Returns versions, newest first, and counts unreadable versions. */
export async function listStoredVersions(
  reader: Reader,
  datasetId: string,
  { head, limit, before = Infinity }: ListedQuery,
): Promise<Omit<DataVersionList, 'copy'>> {
  const versions: DataVersionList['versions'] = [];
  const skippedCauses: UnreadableCause[] = [];
  const [latest, first] = [head?.latest ?? 0, getFirst(head)];
  for (let version = Math.min(latest, before - 1); version >= first && versions.length < limit; version--) {
    const result = (await readStoredVersion(reader, datasetId, version)) ?? 'unreadable'; // version numbers have no gap
    if (typeof result === 'string') {
      skippedCauses.push(result);
      continue;
    }
    const { change: _, ...listed } = result;
    versions.push({ ...listed, readable: version >= head!.readable_from });
  }
  return { versions, total: latest - first + 1, ...countSkipped(skippedCauses) };
}
