import type { Mapping } from '#domain/documents/mapping.js';
import { quoted } from '../tables/key-problems.js';
import type { MarketFile } from '../content/market-rows.js';
import { cellPath, type Problem, type Problems } from '../tables/problems.js';
import type { Cell } from '../formats/cells.js';
import { commaNumberIn, COUNTS, isGroupedCount } from './written-numbers.js';

interface Place {
  readonly file: MarketFile;
  readonly row: number;
}

/** Watches the counts of shares of a market with a decimal comma. */
interface CountMarks {
  see(field: string, cell: Cell | undefined, place: Place): void;
  report(): void;
}

/**
 * Warns of share counts with exactly three decimals, such as 58,490 next to 14,82: their comma may separate thousands.
 * Undefined where the mapping states the mark, or has a decimal point.
 */
export function createCountMarks({ decimal, thousands }: Mapping, problems: Problems): CountMarks | undefined {
  if (decimal !== ',' || thousands === ',') return undefined;
  /** By field; null where another number of it has decimals. */
  const doubted = new Map<string, Problem | null>();

  function see(field: string, cell: Cell | undefined, { file, row }: Place): void {
    if (typeof cell !== 'string' || !COUNTS.has(field) || doubted.get(field) === null || !cell.includes(',')) return;
    if (!isGroupedCount(cell, ',')) doubted.set(field, null);
    else if (!doubted.has(field) && commaNumberIn(cell) !== undefined)
      doubted.set(field, {
        code: 'NOT_A_NUMBER',
        path: cellPath(file.label, row, field),
        message: `${field} is ${quoted(cell)}, read as ${commaNumberIn(cell)}: shares have no fractions. Where its comma is between thousands, thousands "," of the mapping says so.`,
        value: cell,
      });
  }

  return {
    see,
    report() {
      for (const problem of doubted.values()) if (problem !== null) problems.warning(problem);
    },
  };
}
