import type { PartInput, PartWriter } from './part.js';
import { createRowWriter } from './row-text.js';

/**
 * Creates a writer of CSV (RFC 4180). It writes a header, CRLF line ends and empty cells for null. Text that a
 * spreadsheet would take for a formula gets an apostrophe in front.
 */
export function createCsvWriter({ columns, from, sink }: PartInput): PartWriter {
  const writer = createRowWriter(
    {
      rowStart: '',
      separator: ',',
      rowEnd: '\r\n',
      none: '',
      date: (text) => text,
      text: formatCsvText,
    },
    sink,
  );
  if (from.at === 0) writer.raw(`${Object.keys(columns).map(formatCsvText).join(',')}\r\n`);
  return { rows: writer.rows, length: writer.length, end: writer.end };
}

/** First characters of a formula in common spreadsheets. */
const FORMULA_START = /^[=+\-@\t\r]/;
/** Characters because of which a text is quoted. */
const SPECIAL_CHARACTERS = /[",\r\n]/;

/** Formats a text cell. An empty text is quoted, because an empty cell means null. */
export function formatCsvText(text: string): string {
  if (FORMULA_START.test(text)) return quoteText(`'${text}`);
  return text === '' || SPECIAL_CHARACTERS.test(text) ? quoteText(text) : text;
}

function quoteText(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
