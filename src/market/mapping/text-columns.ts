import { quoteText } from '../tables/key-problems.js';
import type { MarketFile } from '../content/market-rows.js';
import { SIMILAR_PROBLEMS_MAX, formatCellPath, type Problem, type Problems } from '../tables/problems.js';
import { explainNotANumber } from '../formats/cells.js';

/** Problems of the texts in a column that the mapping does not name. */
interface ColumnProblems {
  readonly first: Problem[];
  /** Name of the column in the table. */
  readonly written: string;
  count: number;
}

interface TextLocation {
  readonly file: MarketFile;
  readonly row: number;
  readonly column: number;
}

/** Collector of texts in columns that a mapping does not name. Such a column may contain no numbers at all. */
export interface TextColumns {
  /** Names of fields that contain a number. */
  readonly numbered: Set<string>;
  add(name: string, text: string, place: TextLocation): void;
  /** Returns true if a column contained a text. */
  has(name: string): boolean;
  /** Reports texts among numbers as errors. If a column has only texts, ignores it with a warning. */
  report(): void;
}

export function createTextColumns(problems: Problems): TextColumns {
  const numberColumns = new Set<string>();
  const columns = new Map<string, ColumnProblems>();

  function add(name: string, text: string, { file, row, column }: TextLocation): void {
    const refusal = columns.get(name) ?? { first: [], written: file.written[column]!, count: 0 };
    columns.set(name, refusal);
    refusal.count += 1;
    const columnName = file.written[column]!;
    if (refusal.first.length < SIMILAR_PROBLEMS_MAX)
      refusal.first.push({
        code: 'NOT_A_NUMBER',
        path: formatCellPath(file.label, row, columnName),
        message: `${columnName} is ${quoteText(text)}, which ${explainNotANumber(text)}.`,
        value: text,
      });
  }

  function report(): void {
    for (const [target, { first, count, written }] of columns) {
      const name = target.startsWith('\u0000') ? written : target;
      if (!numberColumns.has(target))
        problems.warning({
          code: 'COLUMN_IGNORED',
          path: `market.${name}`,
          at: first[0]!.path,
          column: name,
          message: `The column ${name} holds no number, as ${JSON.stringify(String(first[0]!.value).slice(0, 80))}; it is not read.`,
        });
      else first.forEach((problem, i) => problems.error(problem, i === first.length - 1 ? count - i : 1));
    }
  }

  return { numbered: numberColumns, add, has: (name) => columns.has(name), report };
}
