import { readsStatedActions } from '#market/mapping/own-dividends.js';
import type { Day } from '#domain/time/days.js';
import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { TableKind } from '#market/tables/table-kinds.js';
import type { TableFiles } from '#market/sources/folder.js';
import {
  findVersionFileByBytes,
  toVersionFiles,
  selectUnreadFiles,
  type VersionFile,
} from '#market/sources/known-files.js';
import type { MarketTaskOptions, MarketTaskResult } from '#market/process/market-process.js';
import type { ContentSummary } from '#market/process/market-tasks.js';
import { createProblems } from '#market/tables/problems.js';
import { refuseFolder, type FolderReading } from './folder-reading.js';
import { createTerms, type LoadOptions, type ReadRefusal, type SourceTerms } from './source-terms.js';

type AcceptedRead = Extract<MarketTaskResult, { readonly kind: 'accepted' }>;

export interface AdditionOptions extends Omit<LoadOptions, 'serve'> {
  /** Last stored day. If all bars of the new files are later, only the new files are read. */
  readonly lastDay: Day;
  /** Files from which the current version of the store was read. */
  readonly knownFiles: readonly VersionFile[];
}

/** Data of a source that the current version of its store does not have yet. */
export interface Addition {
  /** Counts of all files and of the rows that were read. */
  readonly summary: ContentSummary;
  readonly handle: MarketHandle;
  /** True if all bars of the source were read, including those of stored days. */
  readonly isWhole: boolean;
  /** Tables that were not read, because none of their files was added, removed or changed. */
  readonly unchangedTables: readonly TableKind[];
  /** All files that can be identified by their content. */
  readonly files: readonly VersionFile[];
}

/** Reads the new files of a folder. If bars of stored days may have changed, reads the whole market. */
export async function readFolderAddition(
  { folders, timestamp }: { readonly folders: FolderReading; readonly timestamp: () => string },
  source: SourceTerms,
  { lastDay, knownFiles }: AdditionOptions,
  options: MarketTaskOptions,
): Promise<ReadRefusal | ({ readonly kind: 'added' } & Addition)> {
  const problems = createProblems();
  const listedAt = Date.parse(timestamp());
  const files = await folders.list(source, problems);
  if (files === undefined || problems.errors > 0) return refuseFolder(createTerms(source), files, problems, options);
  const unreadFiles = selectUnreadFiles(
    files,
    knownFiles,
    await findVersionFileByBytes(files, knownFiles, listedAt),
    createDerivedTables(source),
  );
  const createAddition = (
    unchangedTables: readonly TableKind[],
    unchangedFiles: readonly VersionFile[],
    { isWhole, read }: { readonly isWhole: boolean; readonly read: AcceptedRead },
  ) => {
    const fileDigests = listInOrder(files, [...unchangedFiles, ...read.summary.files]);
    const bytes = fileDigests.reduce((sum, file) => sum + file.bytes, 0);
    const readWarnings = [...problems.findings(), ...(read.summary.readWarnings ?? [])];
    return {
      kind: 'added' as const,
      summary: { ...read.summary, files: fileDigests, bytes, readWarnings },
      handle: read.handle!, // the read was requested with panels
      isWhole,
      unchangedTables: [...unchangedTables, ...(read.summary.unchangedTables ?? [])],
      files: [...unchangedFiles, ...toVersionFiles(files, read.summary.files, listedAt)],
    };
  };
  const terms = createTerms(source);
  // Joined or derived columns of a mapping require the whole source.
  const isPart =
    source.mapping === null &&
    !unreadFiles.isMarketChanged &&
    unreadFiles.unchanged.some(({ dataset: table }) => table === 'market');
  const part = isPart
    ? await folders.readFiles(
        source,
        files,
        { files: unreadFiles.files, isPart, knownDigests: unreadFiles.digests, terms },
        options,
      )
    : undefined;
  if (part?.kind === 'accepted' && (part.summary.start ?? Infinity) > lastDay)
    return createAddition(unreadFiles.unchangedTables, unreadFiles.unchanged, { isWhole: false, read: part });
  const market =
    part?.kind === 'refused'
      ? part
      : await folders.readFiles(
          source,
          files,
          {
            files: { ...unreadFiles.files, market: files.market },
            knownDigests: unreadFiles.digests,
            terms,
          },
          options,
        );
  if (market.kind === 'accepted')
    return createAddition(
      unreadFiles.unchangedTables,
      unreadFiles.unchanged.filter(({ dataset: table }) => table !== 'market'),
      { isWhole: true, read: market },
    );
  // Errors are reported for the whole folder. One file may have a column that another file lacks, two files may contain
  // the same bar, and a table that was not read may state the exchanges that determine the days of instants.
  const whole = await folders.readFiles(source, files, { files, terms }, options);
  return whole.kind === 'refused' ? whole : createAddition([], [], { isWhole: true, read: whole });
}

/**
 * Returns the tables that are derived from the market. They are as recent as the market, whatever files the folder has.
 */
const createDerivedTables = ({ mapping }: SourceTerms): readonly TableKind[] =>
  mapping !== null && readsStatedActions(mapping) ? ['corporate_actions'] : [];

/** Sorts digests in the order of their files. */
function listInOrder(
  files: TableFiles,
  fileDigests: readonly { readonly label: string; readonly bytes: number; readonly sha256: string }[],
) {
  const digestByLabel = new Map(fileDigests.map(({ label, bytes, sha256 }) => [label, { label, bytes, sha256 }]));
  return TABLE_KINDS.flatMap((table) => files[table].flatMap(({ label }) => digestByLabel.get(label) ?? []));
}
