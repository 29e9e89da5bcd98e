import { detectDelimiter, parseCsv } from 'hucre/csv';
import { refuseWithFindings } from '#domain/base/refusals.js';
import type { AccountTableRows } from '#domain/personal/account-table.js';

/** Maximum length of a row with line breaks in quotes. If a row is longer, its closing quote is probably missing. */
const QUOTED_BYTES_MAX = 1_000_000;
const DELIMITERS: ReadonlySet<string> = new Set([',', ';', '\t']);

/**
 * Parses the rows of a CSV text by RFC 4180. The header determines the delimiter: comma, semicolon or tab. Spaces
 * around cells and blank rows are ignored.
 * @param lines lines of the text without their line breaks
 * @throws Refusal VALIDATION_FAILED for a quote that is not closed
 */
export async function parseCsvRows(lines: AsyncGenerator<Buffer>): Promise<AccountTableRows> {
  const records = readRecords(lines);
  const firstRecord = await records.next();
  const firstLine = firstRecord.done === true ? '' : firstRecord.value.text.replace(/^\uFEFF/, '');
  const detectedDelimiter = detectDelimiter(firstLine);
  const delimiter = DELIMITERS.has(detectedDelimiter) ? detectedDelimiter : ',';
  const header = splitCells(firstLine, delimiter);
  async function* readRows() {
    for await (const { text, number } of records) {
      const cells = splitCells(text, delimiter);
      if (cells.some((cell) => cell !== '')) yield { cells, number };
    }
  }
  return { unit: 'line', header, rows: readRows() };
}

function splitCells(text: string, delimiter: string): string[] {
  const cells = text.includes('"') ? (parseCsv(text, { delimiter })[0] ?? []).map(String) : text.split(delimiter);
  return cells.map((cell) => cell.trim());
}

/** Yields rows with the number of their first line. A row ends at the first line break outside quotes. */
async function* readRecords(lines: AsyncGenerator<Buffer>): AsyncGenerator<{ text: string; number: number }> {
  let [number, size] = [0, 0];
  let openLines: string[] = [];
  for await (const lineBytes of lines) {
    number++;
    const text = lineBytes.toString().replace(/\r$/, '');
    openLines.push(text);
    size += text.length;
    // A line with an odd number of quotes begins or ends a cell with line breaks.
    const isWithin = hasOddQuotes(text) === (openLines.length === 1);
    if (!isWithin) {
      yield { text: openLines.join('\n'), number: number - openLines.length + 1 };
      [openLines, size] = [[], 0];
    } else if (size > QUOTED_BYTES_MAX) break;
  }
  if (openLines.length > 0) throw createUnclosedError(number - openLines.length + 1);
}

function hasOddQuotes(text: string): boolean {
  let isOdd = false;
  for (let offset = text.indexOf('"'); offset >= 0; offset = text.indexOf('"', offset + 1)) isOdd = !isOdd;
  return isOdd;
}

const createUnclosedError = (line: number) =>
  refuseWithFindings('body', [
    {
      severity: 'error',
      code: 'UNREADABLE_FILE',
      path: `line ${line}`,
      message: `line ${line}: a quote is not closed.`,
    },
  ]);
