import { TABLE_KINDS, type DatasetDocument } from '#domain/documents/dataset-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentReader } from '#store/port.js';
import { listDatasets } from '../stored/dataset-documents.js';

/**
 * Refuses a source that another store already reads: a folder, a market file in it, or database tables. Two stores of
 * one source could not be distinguished.
 */
export async function assertUnregistered(
  { kind, location, tables }: Pick<DatasetDocument, 'kind' | 'location' | 'tables'>,
  reader: DocumentReader,
  ownId?: string,
): Promise<void> {
  const holder = (await listDatasets(reader)).find(
    (other) =>
      other.store_id !== ownId &&
      (other.location === location || other.source === location) &&
      (kind === 'database' ? haveSameTables(tables, other.tables) : !areTwoFiles(tables, other.tables)),
  );
  if (holder === undefined) return;
  const message =
    kind === 'database'
      ? `The database with these tables is already registered as the data store ${holder.store_id}.${REGISTRATION_ADVICE}`
      : describeRegistration(tables.market, holder);
  throw new Refusal('FOLDER_REGISTERED', message, { store_id: holder.store_id });
}

/** Describes the store that already reads a folder or a file, and the part that it reads. */
function describeRegistration(
  market: string | undefined,
  { store_id: storeId, tables: { market: marketFiles } }: Pick<DatasetDocument, 'store_id' | 'tables'>,
): string {
  const subject = market === undefined ? 'The folder' : `The file ${market} of the folder`;
  const part =
    market === marketFiles
      ? ''
      : marketFiles === undefined
        ? ', which reads the whole folder'
        : `, whose market is its file ${marketFiles}`;
  return `${subject} is already registered as the data store ${storeId}${part}.${REGISTRATION_ADVICE}`;
}

/** Advice for a client that registers a source twice. */
const REGISTRATION_ADVICE = ' To read it otherwise, change that store (adjustment, mapping) or register a copy.';

/** Returns true if two stores of one folder use different files as their market. */
function areTwoFiles(a: DatasetDocument['tables'], b: DatasetDocument['tables']): boolean {
  return a.market !== undefined && b.market !== undefined && a.market !== b.market;
}

/**
 * Returns true if two stores read the same tables of a database. If no table name is given, the name of the dataset is
 * the table name.
 */
function haveSameTables(a: DatasetDocument['tables'], b: DatasetDocument['tables']): boolean {
  return TABLE_KINDS.every((table) => (a[table] ?? table) === (b[table] ?? table));
}
