import type { DataHistoryDocument } from '#domain/documents/data-version-document.js';
import { Refusal } from '#domain/refusal.js';
import { firstOf } from './data-history.js';

export function versionNotFound(datasetId: string, version: number, head: DataHistoryDocument | undefined): Refusal {
  const [first, last] = [firstOf(head), head?.latest];
  const has = last === undefined ? 'none' : `${first} to ${last}`;
  const message = `The data store ${datasetId} has no version ${version}; it has ${has}.`;
  return new Refusal('VERSION_NOT_FOUND', message, { version, ...(last === undefined ? {} : { first, last }) });
}

export function notKept(datasetId: string, version: number): Refusal {
  const message = `Version ${version} of the data store ${datasetId} cannot be had again: no copy of it was left when a later content came.`;
  return new Refusal('NO_DATA_KNOWN', message, { store_id: datasetId, version });
}

export function unreadable(datasetId: string, version: number): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `Version ${version} of the data store ${datasetId} cannot be read.`, {
    version,
  });
}
