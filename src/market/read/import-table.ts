import { recountMarketRows } from '../content/content-hash.js';
import { mergeContents } from '../content/merge.js';
import { isUnreadCompression, writeArrowAsParquet } from '../formats/arrow.js';
import type { Problems } from '../tables/problems.js';
import { createSingleTable } from './folder.js';
import { addRowsRead, type ImportOutcome, refuseAppendedAdjustment, type TableImport } from './import.js';
import { readSource } from './read-source.js';

/**
 * Reads one table that was sent as a file. The table is the market of a new store or an addition to a store. An Arrow
 * stream is first converted to Parquet, so that both formats are read, and their problems reported, in the same way.
 * @returns undefined, with a finding, if the table is invalid or contradicts the stored content.
 */
export async function importTable(
  { table: { path, dataset, format }, answer: { folder, storedFiles, load, calendars }, terms }: TableImport,
  problems: Problems,
  onProgress: (fraction: number) => void,
): Promise<ImportOutcome | undefined> {
  if (storedFiles === null && dataset !== 'market') {
    problems.error({
      code: 'EMPTY_DATASET',
      path: 'market',
      message: `There is no market; the table ${dataset} can only be appended to a store that has one.`,
    });
    return undefined;
  }
  const parquetPath = format === 'parquet' ? path : `${path}.parquet`;
  if (format === 'arrow' && isUnreadCompression(path)) {
    problems.error({
      code: 'UNREADABLE_FILE',
      path: dataset,
      message:
        'The Arrow stream is compressed by ZSTD. Uncompressed streams are read, those of LZ4, and Parquet files.',
    });
    return undefined;
  }
  if (format === 'arrow' && !(await writeArrowAsParquet(path, parquetPath, dataset, problems))) return undefined;
  if (storedFiles !== null) refuseAppendedAdjustment(terms, problems);
  const sourceResult = await readSource(await createSingleTable(dataset, parquetPath), problems, onProgress, {
    isPart: storedFiles !== null,
    terms,
  });
  const { adjustment } = terms;
  const importTerms = { folder, isServed: load, calendars, adjustment, derived: sourceResult?.derived ?? null };
  if (sourceResult === undefined || storedFiles === null)
    return sourceResult && { ...recountMarketRows(sourceResult, terms.mapping), ...importTerms };
  const storedResult = await readSource(storedFiles, problems, () => {}, { isOwn: true });
  const mergedContent = storedResult && mergeContents(storedResult.content, sourceResult.content, problems);
  return mergedContent && { ...addRowsRead(mergedContent, sourceResult.rows), ...importTerms };
}
