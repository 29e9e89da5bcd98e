import type { Mapping } from '#domain/documents/mapping.js';
import type { Cell } from '../formats/cells.js';
import { FORMULA, type SheetCell } from '../formats/workbook-reader.js';
import { formatCellPath, type Problems } from '../tables/problems.js';

interface SheetTable {
  /** Name of the table in findings. */
  readonly label: string;
  readonly columns: readonly string[];
  /** True if rows may have more cells than the header. */
  readonly mayBeLonger: boolean;
  readonly problems: Problems;
}

/** Returns true if a mapped table has two header rows. Its rows may then be longer than the header. */
export const hasTwoHeaders = (mapping: Mapping | null): boolean => mapping?.layout === 'wide' && mapping.field === null;

/** Passes rows of a sheet to the reader of a table. Reports formulas, and values to the right of the header. */
export function createSheetReader(
  { label, columns, mayBeLonger, problems }: SheetTable,
  addRow: (cells: readonly (Cell | undefined)[] | null) => void,
): (cells: readonly SheetCell[], row: number) => void {
  return (cells, row) => {
    if (
      !mayBeLonger &&
      cells.length > columns.length &&
      cells.slice(columns.length).some((cell) => cell !== undefined && cell !== null)
    ) {
      problems.error({
        code: 'UNREADABLE_FILE',
        path: formatCellPath(label, row, ''),
        message: `The row has a value beyond the ${columns.length} columns of the header.`,
      });
    }
    const formula = cells.indexOf(FORMULA);
    addRow(formula < 0 ? cells.filter((cell) => cell !== FORMULA) : null); // Unreadable rows are counted so that later rows keep their numbers.
    if (formula >= 0)
      problems.error({
        code: 'WRONG_TYPE',
        path: formatCellPath(label, row, columns[formula] ?? ''),
        message: 'The cell is a formula; it must be a value.',
      });
  };
}
