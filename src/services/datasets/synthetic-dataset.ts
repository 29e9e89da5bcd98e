import type { Calendars } from '#domain/calendars/calendar.js';
import { listSessionsBetween } from '#domain/calendars/sessions-between.js';
import { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { GeneratePayload, GenerateRequest } from '#domain/jobs/payloads.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { type SyntheticSpec, GENERATOR } from '#market/synthetic/spec.js';
import type { DocumentStore } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';

/** Returns the document of a synthetic store. It is stored before the data exists. */
export function createWritingDataset({ store_id, name, created_at, request }: GeneratePayload): DatasetDocument {
  return {
    store_id,
    name,
    kind: 'synthetic',
    managed: true,
    active: false,
    writing: true,
    location: null,
    source: 'synthetic',
    tables: {},
    mapping: null,
    derived_actions: null,
    taken_at_start: null,
    adjustment: 'none',
    currency: request.currency,
    created_at,
    last_loaded_at: null,
    last_refreshed_at: null,
    identifiers: null,
    start: null,
    end: null,
    size_bytes: null,
    content_hash: null,
    rows: null,
    files: [],
    error: null,
    findings: [],
    synthetic: { generator: GENERATOR, request: { ...request } },
  };
}

/** Removes the document of a store if its data was never completed. */
export async function deleteUnwritten(documents: DocumentStore, datasetId: string): Promise<void> {
  await documents.transaction(
    async (tx) => {
      const storedDocument = await tx.get('store', datasetId);
      if (parseStored(storedDocument, DatasetDocument)?.writing === true) await tx.delete('store', datasetId);
    },
    { reserve: true },
  );
}

/** Returns the input of the generator: the request and the sessions of its calendar. */
export function createSyntheticSpec(request: GenerateRequest, calendars: Calendars): SyntheticSpec {
  const calendar = calendars.get(request.calendar);
  if (calendar === undefined) throw new Refusal('CALENDAR_NOT_COVERED', `There is no calendar ${request.calendar}.`);
  const sessions = listSessionsBetween(calendar.sessions, request.start, request.end);
  return { ...request, exchange: calendar.code, sessions };
}
