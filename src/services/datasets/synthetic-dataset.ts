import { copyFile, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Calendars } from '#domain/calendars/calendar.js';
import { listSessionsBetween } from '#domain/calendars/sessions-between.js';
import { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { GeneratePayload, GenerateRequest } from '#domain/jobs/payloads.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import { runMarketTask } from '#market/process/market-process.js';
import { type SyntheticSpec, GENERATOR } from '#market/synthetic/spec.js';
import type { DocumentStore } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';
import { findDamagedFiles } from './damaged-files.js';
import type { SourceTerms } from './source-terms.js';

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

interface RegenerationDependencies {
  readonly folders: Pick<ManagedFolders, 'create' | 'receive' | 'remove'>;
  readonly calendars: Calendars;
}

/**
 * Creates the function that generates the files of a synthetic store again and replaces its folder. It returns false, and
 * changes nothing, if the files are not exactly those that the service wrote: after a change of the generator or of the
 * calendar.
 */
export function createRegeneration({ folders, calendars }: RegenerationDependencies) {
  return async (store: SourceTerms): Promise<boolean> => {
    const { store_id: datasetId, location, synthetic, files = [] } = store;
    if (!synthetic || location === null || synthetic['generator'] !== GENERATOR) return false;
    const folder = await folders.create(datasetId);
    try {
      const spec = createSyntheticSpec(synthetic['request'] as GenerateRequest, calendars); // this service wrote the request
      const result = await runMarketTask('generate', { spec, folder }, { load: null });
      if (result.kind === 'refused' || files.length === 0) return false;
      if (findDamagedFiles(store, result.summary.files).length > 0) return false;
      await folders.remove(location, datasetId);
      await folders.receive(basename(location), datasetId, (draft) => copyData(folder, draft));
      return true;
    } finally {
      await folders.remove(folder, datasetId);
    }
  };
}

/** Copies the files of a folder, except the mark. */
async function copyData(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) if (!name.startsWith('.')) await copyFile(join(from, name), join(to, name));
}
