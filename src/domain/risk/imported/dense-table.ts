import { compareText } from '../../refusals/findings.js';
import type { ModelProblems } from './import-terms.js';
import type { ModelTable } from './model-tables.js';

/** Relative difference of the two covariances of a pair that counts as rounding. */
const SYMMETRY_TOLERANCE = 1e-9;

/** Table as a dense matrix; NaN for a missing cell. */
export interface DenseTable {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  /** Values, [rows x columns] row-major. */
  readonly values: Float64Array;
}

interface TableShape {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
}

/**
 * Reads the cells of a table into a matrix in the given order. Duplicate cells are problems. Cells of unknown
 * securities are skipped, because the callers report such securities.
 */
export function createDenseTable(
  table: ModelTable,
  { rows, columns }: TableShape,
  problems: ModelProblems,
): DenseTable {
  const rowPositions = findPositions(table.rows, rows);
  const columnPositions = findPositions(table.columns, columns);
  const values = new Float64Array(rows.length * columns.length).fill(Number.NaN);
  table.each(({ row, column, value, place }) => {
    const [i, j] = [rowPositions[row]!, columnPositions[column]!];
    if (i < 0 || j < 0) return; // callers report unknown securities
    const position = i * columns.length + j;
    if (values[position] === values[position]) {
      const [name, other] = [rows[i]!, columns[j]!];
      const message = `The value of ${name}${other === '' ? '' : ` and ${other}`} occurs twice: ${values[position]} and ${value}.`;
      problems.error({ code: 'DUPLICATE_KEY', path: table.pathOf(place), message, value: name });
    } else values[position] = value;
  });
  return { rows, columns, values };
}

function findPositions(names: ReadonlyMap<string, number>, order: readonly string[]): Int32Array {
  const positionByName = new Map(order.map((name, place) => [name, place]));
  return Int32Array.from(names.keys(), (name) => positionByName.get(name) ?? -1);
}

/** Reads a table and requires a value in every cell. */
export function createFullTable(table: ModelTable, shape: TableShape, problems: ModelProblems): DenseTable {
  const denseTable = createDenseTable(table, shape, problems);
  const { rows, columns, values } = denseTable;
  rows.forEach((row, i) =>
    columns.forEach((column, j) => {
      if (values[i * columns.length + j] === values[i * columns.length + j]) return;
      problems.error({ code: 'REQUIRED', path: table.path, message: formatMissing(row, column), value: row });
    }),
  );
  return denseTable;
}

const formatMissing = (row: string, column: string): string =>
  `There is no value for ${row}${column === '' ? '' : ` and ${column}`}.`;

/** Returns the row and column names of a covariance table, ascending. */
export function listTableNames({ rows, columns }: ModelTable): string[] {
  return [...new Set([...rows.keys(), ...columns.keys()])].toSorted(compareText);
}

interface SymmetricTerms {
  readonly names: readonly string[];
  /** True to replace two differing covariances of a pair by their mean. */
  readonly repair: boolean;
}

export interface SymmetricTable {
  /** Covariances, [names x names], exactly symmetric. */
  readonly values: Float64Array;
  /** Number of pairs whose covariances differed by more than rounding. */
  readonly repaired: number;
}

/** Reads a covariance table. One triangle of the matrix is enough. A negative variance is always a problem. */
export function createSymmetricTable(
  table: ModelTable,
  { names, repair }: SymmetricTerms,
  problems: ModelProblems,
): SymmetricTable {
  const { values } = createDenseTable(table, { rows: names, columns: names }, problems);
  const n = names.length;
  const reportCell = (code: 'REQUIRED' | 'OUT_OF_RANGE', message: string, value: unknown): void =>
    problems.error({ code, path: table.path, message, value });
  let repairCount = 0;
  for (let i = 0; i < n; i++) {
    const variance = values[i * n + i]!;
    if (variance < 0)
      reportCell('OUT_OF_RANGE', `The variance of ${names[i]} is ${variance}; it must be at least 0.`, names[i]);
    for (let j = i; j < n; j++) {
      const [above, below] = [values[i * n + j]!, values[j * n + i]!];
      const presentValue = above === above ? above : below;
      if (presentValue !== presentValue) reportCell('REQUIRED', formatMissing(names[i]!, names[j]!), names[i]);
      const isApart = Math.abs(above - below) > SYMMETRY_TOLERANCE * Math.sqrt(Math.abs(variance * values[j * n + j]!));
      if (isApart) repairCount++;
      if (isApart && !repair)
        reportCell(
          'OUT_OF_RANGE',
          `The covariance of ${names[i]} and ${names[j]} is ${above}, and that of ${names[j]} and ${names[i]} ${below}; repair uses their mean.`,
          names[i],
        );
      // Uses the mean of both values. If only one of them is present, uses that one.
      const mean = above !== below && below === below && above === above ? (above + below) / 2 : presentValue;
      values[i * n + j] = mean;
      values[j * n + i] = mean;
    }
  }
  return { values, repaired: repairCount };
}
