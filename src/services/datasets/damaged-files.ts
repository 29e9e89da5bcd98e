import { TABLE_KINDS, type DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { digestFiles, type FileDigest } from '#market/formats/digest-file.js';
import type { TableFiles } from '#market/sources/folder.js';
import type { SourceTerms } from './source-terms.js';

/** Number of hexadecimal digits of a SHA-256 in a message. */
const SHOWN_DIGITS = 12;

/** Ways to replace a damaged file, by the kind of store. */
const REMEDIES: Readonly<Partial<Record<DatasetDocument['kind'], string>>> = {
  synthetic: 'delete the store and generate it again with the same request',
  imported: 'import the data again with on_exists replace',
};

/** Second source of the files of a store. */
export type RepairedFrom = keyof typeof REPAIRS;

const REPAIRS = {
  artifacts: 'fetched the files of the store again from the shared artifacts',
  request: 'generated the files of the store again from its request',
};

/**
 * Returns a finding for each file of a managed store that is not what the service wrote. Only the service changes the
 * files of such a store, so that any other content is damage.
 * @param repair source from which the files were replaced. Default: they were not replaced.
 */
export function findDamagedFiles(
  { store_id: datasetId, kind, location, files = [] }: SourceTerms,
  present: readonly FileDigest[],
  repair?: RepairedFrom,
): Finding[] {
  const digestByLabel = new Map(present.map((digest) => [digest.label, digest]));
  const labels = new Set(files.map(({ label }) => label));
  const outcome =
    repair === undefined
      ? `Its data is not used. Restore the folder ${location ?? ''} from a backup, or ${REMEDIES[kind] ?? 'create the store again'}.`
      : `The service ${REPAIRS[repair]}, with the content that it wrote before.`;
  const createFinding = (label: string, problem: string): Finding => ({
    severity: repair === undefined ? 'error' : 'warning',
    code: 'DAMAGED_FILE',
    path: label,
    message: `The file ${label} of the data store ${datasetId} ${problem}. ${outcome}`,
  });
  const damage = files.flatMap(({ label, bytes, sha256 }) => {
    const digest = digestByLabel.get(label);
    if (digest === undefined) return [createFinding(label, 'is missing or unreadable')];
    if (digest.sha256 === sha256) return [];
    const [was, is] = [sha256.slice(0, SHOWN_DIGITS), digest.sha256.slice(0, SHOWN_DIGITS)];
    return [
      createFinding(
        label,
        `was changed by another program: ${digest.bytes} bytes with SHA-256 ${is}, where the service wrote ${bytes} bytes with SHA-256 ${was}`,
      ),
    ];
  });
  const strangers = present.filter(({ label }) => files.length > 0 && !labels.has(label));
  return [...damage, ...strangers.map(({ label }) => createFinding(label, 'was added by another program'))];
}

/** Checks that the files of a managed store are those that the service wrote. @throws Refusal NO_DATA_SOURCE */
export async function assertIntact(store: SourceTerms, files: TableFiles): Promise<void> {
  const damage = findDamagedFiles(store, await digestReadable(files));
  if (damage.length > 0) throw refuseUnreadableStore(store.store_id, damage);
}

/** Returns the digests of the readable files. */
export async function digestReadable(files: TableFiles): Promise<readonly FileDigest[]> {
  const digests: FileDigest[] = [];
  for (const file of TABLE_KINDS.flatMap((table) => files[table])) await digestFiles([file], digests).catch(() => {}); // an unreadable file has no digest
  return digests;
}

/** Returns the refusal of a request that needs the data of an unreadable store. */
export function refuseUnreadableStore(datasetId: string, findings: readonly Finding[]): Refusal {
  const error = { code: 'STORE_READ_FAILED', message: findings[0]?.message ?? '', detail: { findings } };
  return new Refusal('NO_DATA_SOURCE', `The data store ${datasetId} could not be read: ${error.message}`, {
    store_id: datasetId,
    error,
  });
}
