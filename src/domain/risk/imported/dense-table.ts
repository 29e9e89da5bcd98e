import { compareText } from '../../refusals/findings.js';
import type { ModelProblems } from './import-terms.js';
import type { ModelTable } from './model-tables.js';

/** Relative distance of two covariances of one pair that counts as rounding. */
const SYMMETRIC = 1e-9;

/** A table as a matrix, NaN where it has no cell. */
export interface DenseTable {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  /** [rows x columns] row-major */
  readonly values: Float64Array;
}

interface Shape {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
}

/** The cells of a table in the order of names; a cell that is there twice, and names beyond those, are problems. */
export function denseTable(table: ModelTable, { rows, columns }: Shape, problems: ModelProblems): DenseTable {
  const rowAt = positionsIn(table.rows, rows);
  const columnAt = positionsIn(table.columns, columns);
  const values = new Float64Array(rows.length * columns.length).fill(Number.NaN);
  table.each(({ row, column, value, place }) => {
    const [i, j] = [rowAt[row]!, columnAt[column]!];
    if (i < 0 || j < 0) return; // Reported with its name.
    const at = i * columns.length + j;
    if (values[at] === values[at]) {
      const [name, other] = [rows[i]!, columns[j]!];
      const message = `The value of ${name}${other === '' ? '' : ` and ${other}`} is there twice, ${values[at]} and ${value}.`;
      problems.error({ code: 'DUPLICATE_KEY', path: table.pathOf(place), message, value: name });
    } else values[at] = value;
  });
  return { rows, columns, values };
}

function positionsIn(names: ReadonlyMap<string, number>, order: readonly string[]): Int32Array {
  const placeOf = new Map(order.map((name, place) => [name, place]));
  return Int32Array.from(names.keys(), (name) => placeOf.get(name) ?? -1);
}

/** A table with a value for every row and column. */
export function fullTable(table: ModelTable, shape: Shape, problems: ModelProblems): DenseTable {
  const dense = denseTable(table, shape, problems);
  const { rows, columns, values } = dense;
  rows.forEach((row, i) =>
    columns.forEach((column, j) => {
      if (values[i * columns.length + j] === values[i * columns.length + j]) return;
      problems.error({ code: 'REQUIRED', path: table.path, message: missing(row, column), value: row });
    }),
  );
  return dense;
}

const missing = (row: string, column: string): string =>
  `There is no value of ${row}${column === '' ? '' : ` and ${column}`}.`;

/** Names of rows and columns of a table of covariances, ascending. */
export function namesOfTable({ rows, columns }: ModelTable): string[] {
  return [...new Set([...rows.keys(), ...columns.keys()])].toSorted(compareText);
}

interface SymmetricTerms {
  readonly names: readonly string[];
  /** Takes the mean of two covariances of one pair that differ. */
  readonly repair: boolean;
}

export interface SymmetricTable {
  /** [names x names], exactly symmetric. */
  readonly values: Float64Array;
  /** Pairs whose two covariances differed by more than rounding. */
  readonly repaired: number;
}

/** Covariances of every pair of names; one triangle is enough. A negative variance is a problem always. */
export function symmetricTable(
  table: ModelTable,
  { names, repair }: SymmetricTerms,
  problems: ModelProblems,
): SymmetricTable {
  const { values } = denseTable(table, { rows: names, columns: names }, problems);
  const n = names.length;
  const report = (code: 'REQUIRED' | 'OUT_OF_RANGE', message: string, value: unknown): void =>
    problems.error({ code, path: table.path, message, value });
  let repaired = 0;
  for (let i = 0; i < n; i++) {
    const variance = values[i * n + i]!;
    if (variance < 0)
      report('OUT_OF_RANGE', `The variance of ${names[i]} is ${variance}; at least 0 is needed.`, names[i]);
    for (let j = i; j < n; j++) {
      const [above, below] = [values[i * n + j]!, values[j * n + i]!];
      const known = above === above ? above : below;
      if (known !== known) report('REQUIRED', missing(names[i]!, names[j]!), names[i]);
      const isApart = Math.abs(above - below) > SYMMETRIC * Math.sqrt(Math.abs(variance * values[j * n + j]!));
      if (isApart) repaired++;
      if (isApart && !repair)
        report(
          'OUT_OF_RANGE',
          `The covariance of ${names[i]} and ${names[j]} is ${above}, and that of ${names[j]} and ${names[i]} ${below}; repair takes their mean.`,
          names[i],
        );
      // One of the two where they are the same, and where the other is absent.
      const mean = above !== below && below === below && above === above ? (above + below) / 2 : known;
      values[i * n + j] = mean;
      values[j * n + i] = mean;
    }
  }
  return { values, repaired };
}
