import { open } from 'lmdb';
import { listArtifactNames } from '../artifacts/artifact.js';
import { type ArtifactRef, type DocumentEntry, type DocumentsReader, SCHEMA_VERSION } from '../port.js';
import { decodeKey, encodeKey, openDocument, parseKey } from './document-format.js';

interface LmdbDocumentsReader extends DocumentsReader {
  /** Writes a consistent, compacted copy into an empty folder. */
  copyTo(folder: string): Promise<void>;
}

/** Opens documents only for reading. Call `probeDocuments` first, because a damaged file ends the reading process. */
export function openDocumentsReader(folder: string): LmdbDocumentsReader {
  const database = open<Buffer, Buffer>({
    path: folder,
    noSubdir: false,
    readOnly: true,
    encoding: 'binary',
    keyEncoding: 'binary',
    maxDbs: 1,
  });
  return {
    async *entries() {
      for (const { key, value } of database.getRange({})) yield createEntry(decodeKey(key), value);
    },
    async entry(key) {
      database.resetReadTxn(); // otherwise, reads would return the state at the beginning of this turn of the event loop
      const value = database.get(encodeKey(key));
      return value === undefined ? undefined : createEntry(key, value);
    },
    copyTo: (target) => database.backup(target, true),
    close: () => database.close(),
  };
}

function createEntry(key: string, value: Buffer): DocumentEntry {
  const parsedKey = parseKey(key);
  const openedDocument = openDocument(parsedKey?.id ?? key, { key, value, schemaMax: SCHEMA_VERSION });
  const isReadable = typeof openedDocument !== 'string';
  return {
    key,
    kind: parsedKey?.kind,
    id: parsedKey?.id ?? key,
    bytes: value.length,
    unreadable: isReadable ? undefined : openedDocument,
    body: isReadable ? openedDocument.body : undefined,
    artifactNames: listArtifactNames(value),
  };
}

/** Returns the artifacts that a body refers to. Includes their expected sizes and hashes. */
export function listArtifactRefs(body: unknown): ArtifactRef[] {
  if (Array.isArray(body)) return body.flatMap(listArtifactRefs);
  if (typeof body !== 'object' || body === null) return [];
  const nestedArtifacts = Object.values(body).flatMap(listArtifactRefs);
  return isArtifactRef(body) ? [body, ...nestedArtifacts] : nestedArtifacts;
}

function isArtifactRef(value: object): value is ArtifactRef {
  const { name, bytes, sha256 } = value as Partial<ArtifactRef>;
  return (
    typeof name === 'string' &&
    /^[0-9a-f]{32}\.art$/.test(name) &&
    typeof bytes === 'number' &&
    typeof sha256 === 'string'
  );
}

/** Folder that the service created for a data store, with the hashes of its files. */
interface ManagedStore {
  readonly datasetId: string;
  readonly folder: string;
  readonly files: readonly { readonly label: string; readonly bytes: number; readonly sha256: string }[];
}

/**
 * Returns the folder that the service created for a `store` document. Returns undefined if there is none, or if its
 * files are artifacts.
 */
export function findManagedStore({ kind, id, body }: DocumentEntry): ManagedStore | undefined {
  if (kind !== 'store' || typeof body !== 'object' || body === null) return undefined;
  const { managed, location, files, kept } = body as {
    readonly kept?: unknown;
    readonly managed?: unknown;
    readonly location?: unknown;
    readonly files?: unknown;
  };
  if (managed !== true || kept !== undefined || typeof location !== 'string') return undefined;
  // The engine wrote the body with the schema of a data store.
  return {
    datasetId: id,
    folder: location.slice(location.lastIndexOf('/') + 1),
    files: Array.isArray(files) ? (files as ManagedStore['files']) : [],
  };
}
