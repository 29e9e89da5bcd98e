import type { TableKind } from '../tables/table-kinds.js';
import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import { digestFile, allocateDigestMemory } from '../formats/digest-file.js';
import { readFileIdentity, type TableFiles } from './folder.js';
import type { SourceFile } from '../formats/source-file.js';
import type { FileDigest } from '../formats/digest-file.js';

/** State of a file when a version of a store was read from it. */
export interface VersionFile extends FileDigest {
  readonly dataset: TableKind;
  readonly path: string;
  /**
   * Identity of the file. It is null if the file was written too shortly before the reading to prove that it is
   * unchanged.
   */
  readonly identity: string | null;
}

/**
 * Minimum age of a file at which its identity proves that its bytes are unchanged. Two writes within one tick of a file
 * system's clock have equal times, and the coarsest clock in use ticks every two seconds.
 */
const SETTLED_AFTER_MS = 2000;

/**
 * Returns the states of the files of a folder, by which later readings recognise them.
 * @param listedAt time before any of the files was read, ms since 1970
 */
export function toVersionFiles(files: TableFiles, digests: readonly FileDigest[], listedAt: number): VersionFile[] {
  const digestByLabel = new Map(digests.map((digest) => [digest.label, digest]));
  return TABLE_KINDS.flatMap((table) =>
    files[table].flatMap(({ path, label, identity, changedAt }): VersionFile[] => {
      const digest = digestByLabel.get(label);
      return digest === undefined
        ? []
        : [{ ...digest, dataset: table, path, identity: findSettledIdentity({ identity, changedAt }, listedAt) }];
    }),
  );
}

function findSettledIdentity(
  { identity, changedAt }: Pick<SourceFile, 'identity' | 'changedAt'>,
  listedAt: number,
): string | null {
  return changedAt > listedAt - SETTLED_AFTER_MS ? null : identity;
}

/**
 * Finds market files with known bytes but an unknown identity. They were rewritten unchanged, or too shortly before
 * they were read.
 * @param listedAt time before any of the files was inspected, ms since 1970
 * @returns the files by path, with their new identity
 * @cost 1 ms a MiB of files with the size of a known file
 */
export async function findVersionFileByBytes(
  files: TableFiles,
  versionFiles: readonly VersionFile[],
  listedAt: number,
): Promise<ReadonlyMap<string, VersionFile>> {
  const fileByPath = new Map(versionFiles.map((file) => [file.path, file]));
  const sameFiles = new Map<string, VersionFile>();
  const memory = allocateDigestMemory();
  for (const file of files.market) {
    const versionFile = fileByPath.get(file.path);
    if (
      versionFile?.dataset !== 'market' ||
      versionFile.label !== file.label ||
      versionFile.bytes !== file.bytes ||
      versionFile.identity === file.identity
    )
      continue;
    const result = await digestFile(file.path, file.label, memory).catch(() => undefined); // problems of a file are reported by its reader
    if (result?.sha256 !== versionFile.sha256 || (await readFileIdentity(file.path)) !== file.identity) continue;
    sameFiles.set(file.path, { ...versionFile, identity: findSettledIdentity(file, listedAt) });
  }
  return sameFiles;
}

/** Digests of the files of each table, by label. */
export type TableDigests = Readonly<Partial<Record<TableKind, Readonly<Record<string, string>>>>>;

/** Files of a folder that must be read. The other files are known. */
export interface UnreadFiles {
  /**
   * Files to read: new or changed files of the market, and all files of every other table with an added, changed or
   * removed file.
   */
  readonly files: TableFiles;
  /** True if known files of the market have changed or disappeared. Bars of any day may then differ. */
  readonly isMarketChanged: boolean;
  /** Unchanged files of all datasets. */
  readonly unchanged: readonly VersionFile[];
  /** Tables with only unchanged files. */
  readonly unchangedTables: readonly TableKind[];
  /**
   * Digests of the files of other tables without added and removed files. Their files may have been rewritten
   * unchanged.
   */
  readonly digests: TableDigests;
}

/**
 * Compares the files of a folder with the known files.
 * @param byBytes market files with known bytes, although their identity differs.
 * @param derived tables with rows derived from the market, which are always read again.
 * @cost O(files)
 */
export function selectUnreadFiles(
  files: TableFiles,
  versionFiles: readonly VersionFile[],
  byBytes: ReadonlyMap<string, VersionFile> = new Map(),
  derived: readonly TableKind[] = [],
): UnreadFiles {
  const fileByPath = new Map(versionFiles.map((file) => [file.path, file]));
  const findVersionFile = (table: TableKind, { path, label, identity }: SourceFile): VersionFile | undefined => {
    const file = fileByPath.get(path);
    return file?.identity === identity && file.label === label && file.dataset === table ? file : byBytes.get(path);
  };
  const unreadFiles: Record<TableKind, readonly SourceFile[]> = {
    ...files,
    market: files.market.filter((file) => findVersionFile('market', file) === undefined),
  };
  const unchangedTables: TableKind[] = [];
  const digests: Partial<Record<TableKind, Record<string, string>>> = {};
  const unchangedFiles = files.market.flatMap((file) => findVersionFile('market', file) ?? []);
  const market = unchangedFiles.length;
  for (const table of TABLE_KINDS) {
    if (table === 'market' || derived.includes(table)) continue;
    const sameFiles = files[table].flatMap((file) => findVersionFile(table, file) ?? []);
    const tableFiles = versionFiles.filter((file) => file.dataset === table);
    if (sameFiles.length !== files[table].length || sameFiles.length !== tableFiles.length) {
      const labels = new Set(tableFiles.map(({ label }) => label));
      if (tableFiles.length === files[table].length && files[table].every(({ label }) => labels.has(label)))
        digests[table] = Object.fromEntries(tableFiles.map(({ label, sha256 }) => [label, sha256]));
      continue;
    }
    unreadFiles[table] = [];
    unchangedFiles.push(...sameFiles);
    unchangedTables.push(table);
  }
  return {
    files: unreadFiles,
    isMarketChanged: market < versionFiles.filter(({ dataset: table }) => table === 'market').length,
    unchanged: unchangedFiles,
    unchangedTables,
    digests,
  };
}
