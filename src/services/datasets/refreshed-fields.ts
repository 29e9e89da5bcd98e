import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { RefreshMarketOutput } from '#jobs/tasks/markets.js';
import type { RefreshReport } from '#market/content/refresh-report.js';
import type { VersionFile } from '#market/sources/known-files.js';

/** Returns the document fields that the next version of a store changes. */
export const createRefreshFields = ({
  handle,
  report,
  identifiers,
}: RefreshMarketOutput): Pick<DatasetDocument, 'identifiers' | 'start' | 'end' | 'content_hash'> => ({
  identifiers,
  start: report.start,
  end: report.end,
  content_hash: handle.contentHash,
});

/** Returns true if a file is not part of the market table. Its rows can be accepted without the bars. */
export const isOtherTable = ({ dataset: table }: VersionFile): boolean => table !== 'market';

/**
 * Returns the files that are read again only after a change. A file with rows that were not accepted is not among them.
 */
export function selectReusableFiles(
  files: readonly VersionFile[],
  { left_out: leftOmittedBars, rejected_total: rejectedCount }: RefreshReport,
): readonly VersionFile[] {
  if (rejectedCount > 0) return files.filter((file) => isOtherTable(file) && file.dataset !== 'corporate_actions');
  return leftOmittedBars === null ? files : files.filter(isOtherTable);
}
