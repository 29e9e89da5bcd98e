import type { Mapping } from '#domain/documents/mapping.js';
import { quoteText } from '../tables/key-problems.js';
import type { MarketFile } from '../content/market-rows.js';
import { formatCellPath, type Problem, type Problems } from '../tables/problems.js';
import type { Cell } from '../formats/cells.js';
import { readCommaNumber, COUNT_FIELDS, isGroupedCount } from './written-numbers.js';

interface CellLocation {
  readonly file: MarketFile;
  readonly row: number;
}

/** Observer of the share counts of a market with a decimal comma. */
interface CountMarks {
  see(field: string, cell: Cell | undefined, place: CellLocation): void;
  report(): void;
}

/**
 * Creates warnings about share counts with exactly three decimals, such as 58,490 next to 14,82. The comma may separate
 * thousands there. Returns undefined if the mapping states the thousands mark or has a decimal point.
 */
export function createCountMarks({ decimal, thousands }: Mapping, problems: Problems): CountMarks | undefined {
  if (decimal !== ',' || thousands === ',') return undefined;
  /** First suspect count by field. It is null if another count of the field has a comma that is a decimal mark. */
  const suspects = new Map<string, Problem | null>();

  function recordCell(field: string, cell: Cell | undefined, { file, row }: CellLocation): void {
    if (typeof cell !== 'string' || !COUNT_FIELDS.has(field) || suspects.get(field) === null || !cell.includes(','))
      return;
    if (!isGroupedCount(cell, ',')) suspects.set(field, null);
    else if (!suspects.has(field) && readCommaNumber(cell) !== undefined)
      suspects.set(field, {
        code: 'NOT_A_NUMBER',
        path: formatCellPath(file.label, row, field),
        message: `${field} is ${quoteText(cell)}, read as ${readCommaNumber(cell)}: shares have no fractions. If its comma separates thousands, set thousands "," in the mapping.`,
        value: cell,
      });
  }

  return {
    see: recordCell,
    report() {
      for (const problem of suspects.values()) if (problem !== null) problems.warning(problem);
    },
  };
}
