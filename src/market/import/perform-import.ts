import type { UsedCalendars } from '#domain/calendars/used-calendars.js';
import type { DerivedActions } from '#domain/documents/mapping.js';
import { ImportBody, type ImportHeader } from '#domain/documents/import-request.js';
import type { Adjustment } from '#domain/market/market-data.js';
import { parseJson } from '#domain/json/parse-json.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { checkShape } from '#domain/schema/shape.js';
import type { MarketContent } from '../content/market-content.js';
import type { ImportResponse } from './import-answer.js';
import { countTableRows } from '../content/content.js';
import { mergeContents } from '../content/merge-content.js';
import { recountMarketRows } from '../mapping/count-rows.js';
import type { MarketInterpretation } from '../mapping/mapped-content.js';
import type { Problems } from '../tables/problems.js';
import { decodeContent } from './content-bytes.js';
import { readImport, type ImportSource } from './read-import.js';
import { readSource } from '../sources/read-source.js';
import type { SourceResult } from '../sources/source-read.js';

export interface ImportResult {
  readonly content: MarketContent;
  /** Numbers of rows of the content. */
  readonly rows: SourceResult['rows'];
  /** Numbers of rows of the request, if it was appended. */
  readonly rowsRead?: SourceResult['rows'];
  readonly derived: DerivedActions | null;
  readonly adjustment: Adjustment;
  /** Folder into which the content is written. */
  readonly folder: string;
  readonly isServed: boolean;
  readonly calendars: UsedCalendars;
}

/**
 * Reads the body of an import: first its header, then its data. From the header, the caller decides whether and where
 * to store the data.
 * @returns undefined, with a finding, if the data is invalid or contradicts the stored content.
 * @throws Refusal MALFORMED_REQUEST, VALIDATION_FAILED for a body that is not an import
 */
export async function performImport(
  bytes: Uint8Array,
  { problems, calendars }: { readonly problems: Problems } & Pick<MarketInterpretation, 'calendars'>,
  ask: (header: ImportHeader) => Promise<ImportResponse>,
): Promise<ImportResult | undefined> {
  const { value, overflows } = parseJson(bytes);
  const { value: body, findings } = checkShape(ImportBody, value);
  if (body === undefined) throw refuseWithFindings('request', findings);
  const { content, tables, ...header } = body;
  if ((content === null) === (tables === null)) {
    const message = `Exactly one of content and tables is needed; ${content === null ? 'neither' : 'both'} came.`;
    throw refuseWithFindings('request', [
      { severity: 'error', code: content === null ? 'REQUIRED' : 'UNKNOWN_FIELD', message, path: 'content' },
    ]);
  }
  const source: ImportSource =
    tables === null
      ? { kind: header.format, bytes: decodeContent(content!, header.format) }
      : { kind: 'tables', tables };
  const { folder, storedFiles, load: isServed, calendars: usedCalendars } = await ask(header);
  const importedContent = await readImport(source, problems, { ...header, calendars });
  if (overflows && problems.errors === 0)
    throw new Refusal('MALFORMED_REQUEST', 'A number of the body is larger than a double can hold.');
  if (storedFiles !== null) refuseAppendedAdjustment(header, problems);
  const terms = { adjustment: header.adjustment, folder, isServed, calendars: usedCalendars };
  if (importedContent === undefined || storedFiles === null)
    return importedContent && { ...recountMarketRows(importedContent, header.mapping), ...terms };
  const storedResult = await readSource(storedFiles, problems, () => {}, { isOwn: true });
  const mergedContent = storedResult && mergeContents(storedResult.content, importedContent.content, problems);
  return (
    mergedContent && {
      ...importedContent,
      ...addRowsRead(mergedContent, importedContent.rows),
      ...terms,
    }
  );
}

/** Returns the content after an append, with its numbers of rows and those of the request. */
export const addRowsRead = (content: MarketContent, rowsRead: SourceResult['rows']) => ({
  content,
  rows: countTableRows(content),
  rowsRead,
});

/** Rejects adjusted closes in an append. */
export function refuseAppendedAdjustment({ mapping }: MarketInterpretation, problems: Problems): void {
  if (mapping?.adjusted_close != null)
    problems.error({
      code: 'NOT_IN_CHOICES',
      path: 'mapping.adjusted_close',
      message: 'Adjusted closes change backwards with every dividend: they are imported whole, with on_exists replace.',
      accepted: ['replace'],
    });
}
