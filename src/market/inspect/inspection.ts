import { formatDay } from '#domain/time/days.js';
import { Mapping } from '#domain/documents/mapping.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketContent } from '../content/market-content.js';
import type { TableNames } from '../sources/databases/tables-to-read.js';
import type { Problems } from '../tables/problems.js';
import type { Confidence } from './propose.js';
import { createBasis, type Adjustment, type Basis, type Question } from './question.js';
import type { Sample } from './sample.js';
import { describeTable, listTableProblems } from './unrecognised-tables.js';

/** Result of an inspection. Contains the proposal for reading the data, and its effect. */
export interface Inspection {
  /** Files, sheets or tables of the market. */
  readonly files: number;
  readonly rows_read: number;
  readonly mapping: Mapping;
  /** Names of the tables in a database, if the market has another name than its dataset. */
  readonly tables: TableNames;
  readonly adjustment: Adjustment;
  readonly basis: Basis;
  readonly confidence: Confidence;
  readonly recognised_as: string | null;
  readonly unsure: readonly Question[];
  readonly preview: {
    readonly index: number[];
    readonly columns: string[];
    readonly data: (string | number | null)[][];
  };
  readonly findings: readonly Finding[];
  /** Names of all files with an error. Empty if not all files were examined. */
  readonly faulty_files: readonly string[];
}

/**
 * Returns the inspection of tables that were not recognised.
 * @param tables first rows of the files that were examined
 * @param files number of all files
 */
export function createEmptyInspection(tables: readonly Sample[], files: number, problems: Problems): Inspection {
  const isEmpty =
    problems.errors === 0 &&
    tables.length > 0 &&
    tables.every(({ rows, fault }) => rows.length === 1 && fault === undefined);
  if (isEmpty)
    problems.error({ code: 'EMPTY_DATASET', path: 'market', message: 'The table has a header and no rows.' });
  else if (problems.errors === 0)
    for (const problem of listTableProblems(tables)) {
      problems.nameFile(problem.path, problem.file);
      problems.error(problem);
    }
  if (files > tables.length && tables.length > 0)
    problems.warning({
      code: 'MORE_FINDINGS',
      path: 'market',
      message: `${tables.length} of ${files} files were examined; the problems of the others are not listed.`,
    });
  return {
    files,
    rows_read: 0,
    mapping: Mapping.parse({}),
    tables: {},
    adjustment: 'none',
    basis: createBasis('none', 'No rows were read.'),
    confidence: 'unsure',
    recognised_as: null,
    unsure: isEmpty
      ? []
      : [
          {
            field: 'columns',
            question: `Which columns contain the date and the close? No table of prices was recognised.${describeTable(tables[0])}`,
            taken: null,
            others: [],
            required: true,
          },
        ],
    preview: { index: [], columns: [], data: [] },
    findings: problems.findings(),
    faulty_files: files > tables.length ? [] : problems.files(),
  };
}

/** Maximum number of bars in a preview. */
const PREVIEW_ROWS = 10;

/** Returns the first bars, by security. */
export function createPreview(content: MarketContent | undefined): Inspection['preview'] {
  if (content === undefined) return { index: [], columns: [], data: [] };
  const { identifiers, dates, fields } = content;
  const rows: (string | number | null)[][] = [];
  for (let n = 0; n < identifiers.length && rows.length < PREVIEW_ROWS; n++) {
    for (let t = 0; t < dates.length && rows.length < PREVIEW_ROWS; t++) {
      const values = [...fields.values()].map((panel) => panel[t * identifiers.length + n]!);
      if (values.some((value) => value === value))
        rows.push([identifiers[n]!, formatDay(dates[t]!), ...values.map((value) => (value === value ? value : null))]);
    }
  }
  return { index: rows.map((_, i) => i), columns: ['identifier', 'date', ...fields.keys()], data: rows };
}
