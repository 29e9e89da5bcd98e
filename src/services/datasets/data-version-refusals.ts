import type { DataHistoryDocument } from '#domain/documents/data-version-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { getFirst } from '../stored/data-history.js';

/** Parameter of a request that names a version. */
export type VersionPath = 'as_known_on' | 'from' | 'to';

interface MissingVersion {
  readonly version: number;
  readonly head: DataHistoryDocument | undefined;
  readonly path: VersionPath | undefined;
}

export function refuseMissingVersion(datasetId: string, { version, head, path }: MissingVersion): Refusal {
  const [first, last] = [getFirst(head), head?.latest];
  const versionRange = last === undefined ? 'none' : `${first} to ${last}`;
  const message = `The data store ${datasetId} has no version ${version}; it has ${versionRange}.`;
  return new Refusal('VERSION_NOT_FOUND', message, {
    version,
    ...(last === undefined ? {} : { first, last }),
    ...(path === undefined ? {} : { path }),
  });
}

/** @param kept number of versions that the store keeps; null if all versions are kept */
export function createPurgedRefusal(
  datasetId: string,
  version: number,
  { kept, latest }: { readonly kept: number | null; readonly latest: number },
): Refusal {
  const isForgotten = kept !== null && version <= latest - kept;
  const reason = isForgotten
    ? `it was forgotten, as the store keeps ${kept} (versions_kept)`
    : 'no copy of it was left when a later content came';
  const message = `Version ${version} of the data store ${datasetId} cannot be had again: ${reason}.`;
  const detail = { store_id: datasetId, version, ...(isForgotten ? { versions_kept: kept } : {}) };
  return new Refusal('NO_DATA_KNOWN', message, detail);
}

/** @param firstAt time from which the first version was known */
export function createLaterVersionRefusal(datasetId: string, time: string, firstAt: string): Refusal {
  const message = `Nothing of the data store ${datasetId} was known by ${time}: its first version was known at ${firstAt}.`;
  const detail = { store_id: datasetId, as_known_on: time, first_known_on: firstAt, path: 'as_known_on' };
  return new Refusal('NO_DATA_KNOWN', message, detail);
}

export function refuseUnreadable(datasetId: string, version: number): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `Version ${version} of the data store ${datasetId} cannot be read.`, {
    version,
  });
}
