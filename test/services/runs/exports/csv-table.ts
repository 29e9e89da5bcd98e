import type { Row } from './set-up.js';

/** Returns the rows of a CSV without quoted cells. Numbers are parsed; empty cells are null. */
export function parseCsvTable(text: string): Row[] {
  const [header = '', ...lines] = text.trim().split(/\r?\n/);
  const columns = header.split(',');
  const findCell = (word: string) => (word === '' ? null : isNaN(+word) ? word : +word);
  return lines.map((line) => {
    const cells = line.split(',');
    return Object.fromEntries(columns.map((column, i) => [column, findCell(cells[i] ?? '')]));
  });
}
