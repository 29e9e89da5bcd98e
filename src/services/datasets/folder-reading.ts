import { isManaged, TABLE_KINDS, type DatasetDocument } from '#domain/documents/dataset-document.js';
import { listFolderFiles, type TableFiles } from '#market/sources/folder.js';
import { toVersionFiles, type VersionFile } from '#market/sources/known-files.js';
import type { Locations } from '#market/sources/locations.js';
import type { MarketInterpretation } from '#market/mapping/mapped-content.js';
import { runMarketTask, type MarketTaskOptions, type MarketTaskResult } from '#market/process/market-process.js';
import type { MarketTasks } from '#market/process/market-tasks.js';
import { digestFiles, type FileDigest } from '#market/formats/digest-file.js';
import { createProblems, type Problems } from '#market/tables/problems.js';
import { digestReadable } from './damaged-files.js';
import { createTerms, type ReadRefusal, type SourceTerms } from './source-terms.js';

/** Service that reads folders. A folder can change while it is read. */
export interface FolderReading {
  /** Lists the files of each table. If the folder does not exist, returns undefined and adds a problem. */
  list(source: SourceTerms, problems: Problems): Promise<TableFiles | undefined>;
  /** Reads some files of a folder. All of them must still exist when they are read. */
  readFiles(
    source: SourceTerms,
    listed: TableFiles,
    input: MarketTasks['readFiles'],
    options: MarketTaskOptions,
  ): Promise<MarketTaskResult>;
  /** Returns the digests of the readable files of a folder. */
  digest(source: SourceTerms): Promise<readonly FileDigest[]>;
  /** Reads all files of a folder. */
  read(
    source: SourceTerms,
    options: MarketTaskOptions,
  ): Promise<MarketTaskResult & { readonly known?: readonly VersionFile[] }>;
  /**
   * Returns the files of a folder if they still have the content from which the store was read; otherwise undefined.
   */
  unchanged(store: SourceTerms & Pick<DatasetDocument, 'files'>): Promise<readonly VersionFile[] | undefined>;
}

export function createFolderReading({
  locations,
  timestamp,
}: {
  readonly locations: Locations;
  readonly timestamp: () => string;
}): FolderReading {
  async function list({ location, tables, mapping }: SourceTerms, problems: Problems): Promise<TableFiles | undefined> {
    const resolvedPath = await locations.resolve(location ?? '', 'folder');
    if ('path' in resolvedPath) return listFolderFiles(resolvedPath.path, { tables, mapping }, locations, problems);
    problems.error(resolvedPath.problem);
    return undefined;
  }

  async function readFiles(
    source: SourceTerms,
    tableFiles: TableFiles,
    input: MarketTasks['readFiles'],
    options: MarketTaskOptions,
  ): Promise<MarketTaskResult> {
    const result = await runMarketTask('readFiles', { ...input, isOwn: isManaged(source.kind) }, options);
    if (result.kind === 'refused') return result;
    const problems = createProblems();
    const now = await list(source, problems);
    for (const label of listChangedLabels(tableFiles, now))
      problems.error({
        code: 'UNREADABLE_FILE',
        path: label,
        message: 'The file appeared or disappeared while the folder was read.',
      });
    return problems.errors > 0 ? { kind: 'refused', findings: problems.findings() } : result;
  }

  async function read(
    source: SourceTerms,
    options: MarketTaskOptions,
  ): Promise<MarketTaskResult & { readonly known?: readonly VersionFile[] }> {
    const problems = createProblems();
    const listedAt = Date.parse(timestamp());
    const files = await list(source, problems);
    if (files === undefined || problems.errors > 0) return refuseFolder(createTerms(source), files, problems, options);
    const result = await readFiles(source, files, { files, terms: createTerms(source) }, options);
    problems.take(result.kind === 'refused' ? result.findings : result.summary.warnings);
    if (result.kind === 'refused') return { kind: 'refused', findings: problems.findings() };
    return {
      ...result,
      summary: { ...result.summary, warnings: problems.findings() },
      known: toVersionFiles(files, result.summary.files, listedAt),
    };
  }

  return {
    list,
    async digest(source) {
      const files = await list(source, createProblems());
      return files === undefined ? [] : digestReadable(files);
    },
    readFiles,
    read,
    async unchanged({ files: digests, ...source }) {
      if (source.kind !== 'folder') return undefined;
      const listedAt = Date.parse(timestamp());
      const currentFiles = await list(source, createProblems());
      const files = TABLE_KINDS.flatMap((table) => currentFiles?.[table] ?? []);
      const digestByLabel = new Map(digests.map((digest) => [digest.label, digest]));
      const isSameFile = ({ label, bytes, sha256 }: Partial<FileDigest>): boolean => {
        const digest = digestByLabel.get(label ?? '');
        return digest?.bytes === bytes && (sha256 === undefined || digest?.sha256 === sha256);
      };
      if (currentFiles === undefined || files.length !== digestByLabel.size || !files.every(isSameFile))
        return undefined;
      const fileDigests: FileDigest[] = [];
      await digestFiles(files, fileDigests).catch(() => fileDigests.splice(0)); // the reader reports unreadable files
      return fileDigests.length === files.length && fileDigests.every(isSameFile)
        ? toVersionFiles(currentFiles, digests, listedAt)
        : undefined;
    },
  };
}

/** Reports all problems of a folder with an invalid listing, and all problems of the files in it. */
export async function refuseFolder(
  terms: MarketInterpretation,
  files: TableFiles | undefined,
  problems: Problems,
  options: MarketTaskOptions,
): Promise<ReadRefusal> {
  if (files !== undefined && TABLE_KINDS.some((table) => files[table].length > 0)) {
    const marketTaskResult = await runMarketTask('readFiles', { files, terms }, { ...options, load: null });
    if (marketTaskResult.kind === 'refused') problems.take(marketTaskResult.findings);
  }
  return { kind: 'refused', findings: problems.findings() };
}

/**
 * Returns the labels of files that only one of the two listings contains. A folder that can no longer be listed counts
 * as empty.
 */
function listChangedLabels(before: TableFiles, now: TableFiles | undefined): string[] {
  const collectLabels = (files: TableFiles | undefined) =>
    new Set(TABLE_KINDS.flatMap((table) => files?.[table].map(({ label }) => label) ?? []));
  const [old, current] = [collectLabels(before), collectLabels(now)];
  return [...[...old].filter((label) => !current.has(label)), ...[...current].filter((label) => !old.has(label))];
}
