import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunDocument, RunListDocument } from '#domain/definition/runs.js';
import { digestFile, type FileDigest } from '../artifacts/durable-files.js';
import { computeRunId, type DocumentsReader, getOwner } from '../port.js';
import { createAuditCheck } from '../history/audit.js';
import { createHistoryCheck } from '../history/history.js';
import { createLogsCheck } from '../history/publication-log.js';
import { findManagedStore, listArtifactRefs, openDocumentsReader } from '../lmdb/documents-reader.js';
import { probeDocuments } from '../lmdb/probe-documents.js';
import type { ArtifactLocation } from '../ownership/artifact-location.js';
import { type HomeFolders, requireFormat } from './home.js';

/**
 * Function that returns the size and hash of a stored artifact. It reads the artifact store and not a cache.
 * @throws if the artifact is absent
 */
type DigestArtifact = (name: string) => Promise<FileDigest>;

/** Opens an artifact store for digests. @cost one read of each requested artifact */
export async function openArtifactDigests(place: ArtifactLocation): Promise<DigestArtifact> {
  if (place.kind === 'folder') return (name) => digestFile(join(place.folder, name));
  const { createS3Client } = await import('../s3/client.js'); // loaded on demand
  const client = createS3Client(place.access);
  return async (name) => {
    const digest = await client.get(name, async ({ body }) => {
      const hash = createHash('sha256');
      let bytes = 0;
      for await (const chunk of body) {
        hash.update(chunk);
        bytes += chunk.length;
      }
      return { bytes, sha256: hash.digest('hex') };
    });
    if (digest === undefined) throw new Error(`there is no object ${name}`);
    return digest;
  };
}

/** Document as read from disk. Its body is undefined if it is unreadable. */
interface Entry {
  readonly kind: string | undefined;
  readonly id: string;
  readonly body: unknown;
}

/** Check for missing runs that should be kept. It receives all documents of a snapshot. */
interface RunsCheck {
  look(entry: Entry): void;
  /** Returns the missing runs by index or strategy, after all documents were read. */
  gaps(): readonly { readonly name: string; readonly reason: string }[];
}

function createRunsCheck(): RunsCheck {
  const listsBySubject = new Map<string, RunListDocument | undefined>();
  /**
   * Ids of the kept runs and of the newest run, by index or strategy. The id of the newest run is undefined if it is
   * unreadable.
   */
  const keptRuns = new Map<string, Set<string>>();
  const newestBySubject = new Map<string, string | undefined>();

  function listMissing(subject: string): string[] {
    const runs = keptRuns.get(subject) ?? new Set();
    if (!listsBySubject.has(subject))
      return runs.size === 0 ? [] : [`it has ${runs.size} earlier runs, but their list is missing`];
    const list = listsBySubject.get(subject);
    if (list === undefined) return []; // the list is damaged, which another check reports
    const lostRuns = list.earlier.filter((id) => !runs.has(id)).map((id) => `its earlier run ${id} is missing`);
    const isNewestLost = newestBySubject.has(subject) && newestBySubject.get(subject) === undefined;
    const lostPublications = list.published.filter(
      (id) => !list.earlier.includes(id) && !isNewestLost && newestBySubject.get(subject) !== id,
    );
    return [...lostRuns, ...lostPublications.map((id) => `its published run ${id} is missing`)];
  }

  return {
    look({ kind, id, body }) {
      if (kind === 'run-list') listsBySubject.set(id, RunListDocument.safeParse(body).data);
      if (kind === 'kept-run')
        keptRuns.set(getOwner(id), (keptRuns.get(getOwner(id)) ?? new Set()).add(id.slice(id.lastIndexOf('/') + 1)));
      if (kind === 'run') newestBySubject.set(id, readNewestId(body));
    },
    gaps: () =>
      [...new Set([...listsBySubject.keys(), ...keptRuns.keys()])].flatMap((name) =>
        listMissing(name).map((reason) => ({ name, reason })),
      ),
  };
}

/** Returns the id of a run. Returns undefined if the run is unreadable, or was written before runs had ids. */
function readNewestId(body: unknown): string | undefined {
  const { run_id, artifacts } = (body ?? {}) as Partial<RunDocument>; // the stored shape
  return run_id === undefined || artifacts?.columns === undefined ? undefined : computeRunId({ run_id, artifacts });
}

/** Number of checked items of one kind, and the damaged items. */
export interface VerifiedPart extends VerifiedCounts {
  /** Kind of document, `artifacts`, or `stores`. */
  readonly part: string;
}

interface VerifiedCounts {
  readonly count: number;
  readonly bytes: number;
  readonly damaged: readonly Damage[];
}

export interface Damage {
  readonly name: string;
  /** Reason as a clause, such as `the file is missing`. */
  readonly reason: string;
  /** Kinds and ids of the documents that refer to the artifact. */
  readonly documents?: readonly string[];
}

const DAMAGE_REASONS = {
  unreadable: 'its checksum differs',
  unsupported: 'it was written by a newer engine',
  invalid: 'it does not satisfy its schema',
} as const;

export interface HomeVerifyOptions {
  readonly onProgress?: (message: string) => void;
  /** Opens the documents. Present if they are outside the home folder. */
  readonly openDocuments?: () => Promise<DocumentsReader>;
  /** Reads an artifact. Present if all artifacts are outside the home folder. */
  readonly digestArtifact?: DigestArtifact;
}

/**
 * Reads all content of a home folder and compares it with the hashes that were recorded when it was written. Works even
 * while a service uses the folder.
 * @throws StartRefusal 78 if there is no home, or its documents cannot be opened
 * @cost one read of every byte
 */
export async function verifyHome(home: HomeFolders, options: HomeVerifyOptions = {}): Promise<VerifiedPart[]> {
  const { onProgress = () => {}, openDocuments = () => openOwnDocuments(home), digestArtifact } = options;
  if (digestArtifact === undefined) await requireFormat(home);
  const reader = await openDocuments();
  try {
    const { parts, references, stores } = await verifyDocuments(reader);
    return [
      ...parts,
      await verifyArtifacts(digestArtifact ?? createDigest(home), reader, references, onProgress),
      await verifyStores(home, reader, stores, onProgress),
    ];
  } finally {
    await reader.close();
  }
}

const createDigest =
  ({ artifacts }: HomeFolders): DigestArtifact =>
  (name) =>
    digestFile(join(artifacts, name));

/** Opens the documents of a home. @throws StartRefusal 78 if their file is damaged */
export async function openOwnDocuments(home: HomeFolders): Promise<DocumentsReader> {
  await probeDocuments(home.documents, home.backups); // reading a damaged file would end this process
  return openDocumentsReader(home.documents);
}

interface Reference {
  /** Documents that refer to the artifact, by key: kind and id of each. */
  readonly owners: Map<string, string>;
  /** Expected size and hash according to a readable document. */
  expected: { readonly bytes: number; readonly sha256: string } | undefined;
}

interface StoreReference {
  readonly key: string;
  readonly store: NonNullable<ReturnType<typeof findManagedStore>>;
}

interface Documents {
  readonly parts: VerifiedPart[];
  readonly references: ReadonlyMap<string, Reference>;
  readonly stores: readonly StoreReference[];
}

async function verifyDocuments(reader: DocumentsReader): Promise<Documents> {
  const byKind = new Map<string, { count: number; bytes: number; damaged: Damage[] }>();
  const references = new Map<string, Reference>();
  const stores: StoreReference[] = [];
  const historyCheck = createHistoryCheck();
  const logsCheck = createLogsCheck();
  const auditCheck = createAuditCheck();
  const runs = createRunsCheck();
  const getPart = (part: string) => {
    const result = byKind.get(part) ?? { count: 0, bytes: 0, damaged: [] };
    byKind.set(part, result);
    return result;
  };
  for await (const entry of reader.entries()) {
    const partName = entry.kind ?? 'unknown kind';
    const result = getPart(partName);
    result.count++;
    result.bytes += entry.bytes;
    const historyFault = historyCheck.look(entry);
    logsCheck.look(entry);
    auditCheck.look(entry);
    runs.look(entry);
    const reason = entry.unreadable === undefined ? historyFault : DAMAGE_REASONS[entry.unreadable];
    if (reason !== undefined) result.damaged.push({ name: entry.id, reason });
    const refsByName = new Map(listArtifactRefs(entry.body).map((ref) => [ref.name, ref]));
    for (const name of entry.artifactNames) {
      const reference = references.get(name) ?? { owners: new Map(), expected: undefined };
      references.set(name, reference);
      reference.owners.set(entry.key, `${partName} ${entry.id}`);
      reference.expected ??= refsByName.get(name);
    }
    const store = findManagedStore(entry);
    if (store !== undefined) stores.push({ key: entry.key, store });
  }
  getPart('publication').damaged.push(...logsCheck.faults());
  const fault = auditCheck.fault();
  if (fault !== undefined) getPart('audit').damaged.push({ name: `entry ${fault.seq}`, reason: fault.reason });
  getPart('history').damaged.push(...historyCheck.gaps());
  getPart('kept-run').damaged.push(...runs.gaps());
  const isFound = ([, { count, damaged }]: readonly [string, VerifiedCounts]): boolean => count + damaged.length > 0;
  return { parts: [...byKind].filter(isFound).map(([part, found]) => ({ part, ...found })), references, stores };
}

async function verifyArtifacts(
  digest: DigestArtifact,
  reader: DocumentsReader,
  references: ReadonlyMap<string, Reference>,
  onProgress: (message: string) => void,
): Promise<VerifiedPart> {
  const damages: Damage[] = [];
  let bytes = 0;
  for (const [name, { owners, expected }] of references) {
    onProgress(name);
    const result = await digest(name).catch(() => undefined);
    bytes += result?.bytes ?? 0;
    const reason = result === undefined ? 'the file is missing' : findDifference(result, expected);
    // Skips documents that a service replaced meanwhile. It may have removed artifacts that only the old document
    // referred to.
    if (reason === undefined) continue;
    const documents: string[] = [];
    for (const [key, document] of owners)
      if ((await reader.entry(key))?.artifactNames.includes(name) === true) documents.push(document);
    if (documents.length > 0) damages.push({ name, reason, documents });
  }
  return { part: 'artifacts', count: references.size, bytes, damaged: damages };
}

async function verifyStores(
  { stores: folder }: HomeFolders,
  reader: DocumentsReader,
  stores: readonly StoreReference[],
  onProgress: (message: string) => void,
): Promise<VerifiedPart> {
  const damages: Damage[] = [];
  let bytes = 0;
  let count = 0;
  for (const { key, store } of stores) {
    const existingNames = new Set(await readdir(join(folder, store.folder)).catch(() => []));
    for (const expected of store.files) {
      const file = [expected.label, `${expected.label}.parquet`].find((name) => existingNames.has(name));
      onProgress(`${store.datasetId} ${expected.label}`);
      const result =
        file === undefined ? undefined : await digestFile(join(folder, store.folder, file)).catch(() => undefined);
      count++;
      bytes += result?.bytes ?? 0;
      const reason = result === undefined ? 'the file is missing' : findDifference(result, expected);
      const entry = await reader.entry(key);
      const isUnchanged = entry !== undefined && findManagedStore(entry)?.folder === store.folder;
      if (reason !== undefined && isUnchanged) damages.push({ name: `${store.datasetId}/${expected.label}`, reason });
    }
  }
  return { part: 'stores', count, bytes, damaged: damages };
}

function findDifference(
  found: { readonly bytes: number; readonly sha256: string },
  expected: { readonly bytes: number; readonly sha256: string } | undefined,
): string | undefined {
  if (expected === undefined) return undefined;
  if (found.bytes !== expected.bytes) return `it has ${found.bytes} bytes; ${expected.bytes} were written`;
  return found.sha256 === expected.sha256 ? undefined : 'its checksum differs';
}
