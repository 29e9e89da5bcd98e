import type { PartInput, PartWriter } from './part.js';
import { createRowWriter } from './row-text.js';

/**
 * Writes CSV (RFC 4180): a header, CRLF, empty cells for null. Text that a spreadsheet would read as a formula begins
 * with an apostrophe.
 */
export function createCsvWriter({ columns, from, sink }: PartInput): PartWriter {
  const writer = createRowWriter(
    {
      rowStart: '',
      separator: ',',
      rowEnd: '\r\n',
      none: '',
      date: (text) => text,
      text: csvText,
    },
    sink,
  );
  if (from.at === 0) writer.raw(`${Object.keys(columns).map(csvText).join(',')}\r\n`);
  return { rows: writer.rows, length: writer.length, end: writer.end };
}

/** Beginnings of a formula in some spreadsheet. */
const FORMULA = /^[=+\-@\t\r]/;
/** Characters that require quotes. */
const SPECIAL = /[",\r\n]/;

/** Quotes an empty text, because an empty cell means null. */
export function csvText(text: string): string {
  if (FORMULA.test(text)) return quote(`'${text}`);
  return text === '' || SPECIAL.test(text) ? quote(text) : text;
}

function quote(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
