import { stat } from 'node:fs/promises';
import { readDataset } from '#services/stored/dataset-documents.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { HomeFolders } from '#store/home/home.js';
import { openOwnDocuments } from '#store/home/verify-home.js';
import type { DocumentsReader } from '#store/port.js';
import { openPostgresReader } from '#store/postgres/documents-reader.js';
import { assertMigrated } from '#store/postgres/migrate.js';
import { runWithClient } from '#store/postgres/open-documents.js';

/** Parts of a stored document that are checked. */
export interface CheckedDocument {
  readonly id: string;
  readonly kind: string | undefined;
  readonly isReadable: boolean;
  /** Set for a data store. */
  readonly dataset: DatasetDocument | undefined;
}

/** Reads the documents; undefined if there are none. @throws StartRefusal if they cannot be opened */
export async function readCheckedDocuments(
  home: HomeFolders,
  database: string | undefined,
): Promise<readonly CheckedDocument[] | undefined> {
  const reader = database === undefined ? await findOwnDocuments(home) : await openDatabaseDocuments(database);
  if (reader === undefined) return undefined;
  try {
    const documents: CheckedDocument[] = [];
    for await (const { kind, id, unreadable, body } of reader.entries())
      documents.push({
        id,
        kind,
        isReadable: unreadable === undefined,
        dataset: kind === 'store' ? readDataset(body) : undefined,
      });
    return documents;
  } finally {
    await reader.close();
  }
}

async function findOwnDocuments(home: HomeFolders): Promise<DocumentsReader | undefined> {
  const hasDatabase = (await stat(`${home.documents}/data.mdb`).catch(() => undefined)) !== undefined;
  return hasDatabase ? openOwnDocuments(home) : undefined;
}

async function openDatabaseDocuments(url: string): Promise<DocumentsReader> {
  await runWithClient(url, assertMigrated);
  return openPostgresReader(url);
}
