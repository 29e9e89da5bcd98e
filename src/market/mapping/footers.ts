import type { Day } from '#domain/base/time.js';
import type { MarketFile, MarketRows } from '../content/market-rows.js';
import { formatCellPath, type DataProblem, type Problems } from '../tables/problems.js';
import { type Cell, type Heading, readText } from '../formats/cells.js';

/**
 * Maximum number of rows below the last bar of a table that count as a footer. A footer is, for example, a source, a
 * note or totals.
 */
const FOOTER_ROWS_MAX = 10;

/** Maximum number of footer texts in a finding. */
const QUOTED_ROWS_MAX = 3;

/** Matches the beginning of a day: the name of a weekday or month, or a digit. */
const DATE_TEXT =
  /^(?:\d|(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[,.]?\s+)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[.,]?\s*\d)/i;

/** Returns true if a text in the day column may belong to a footer. */
export const isFooterText = (text: string): boolean => !DATE_TEXT.test(text);

/**
 * Returns true if a text that fills its row belongs to a footer. It must consist of several words, and must not be the
 * beginning of a truncated row.
 */
const isSentence = (text: string): boolean => isFooterText(text) && /[\s:]/.test(text);

interface DeferredProblem {
  readonly problem: DataProblem;
  readonly times: number | undefined;
}

/**
 * Wraps the reader of tables that may end with a footer. A footer is up to ten rows below the last bar that have words,
 * or nothing, in place of a day. It is ignored with one warning. If another bar follows, the rows are errors.
 * @param rowsOn creates a reader that reports to the given problems
 */
export function wrapFooters(rowsOn: (problems: Problems) => MarketRows, problems: Problems): MarketRows {
  const { problems: caught, report, catching } = createCatcher(problems);
  const rows = rowsOn(caught);
  let footer: FooterRow[] = [];
  let keys: DeferredProblem[] = [];
  let table: MarketFile | undefined;
  let hasBars = false;
  let footerRows = 0;
  /** Number of rows before the current table. */
  let rowsBefore = 0;
  /** Problems of the current row, if it may belong to a footer. */
  let currentProblems: DeferredProblem[] | null = null;

  /**
   * Reports the problems of rows that might have been a footer, but are not one, because a later row has a bar or
   * another error.
   */
  function refuseFooter(): void {
    for (const { deferredProblems } of footer) deferredProblems.forEach(report);
    footer = [];
    currentProblems = null;
  }

  /** Keeps a row as part of the footer, or reports its problems. */
  function settle(deferredProblems: DeferredProblem[], text: string | undefined, counted: number): void {
    const mayBeFooter = text !== undefined && hasBars && footer.length < FOOTER_ROWS_MAX;
    if (mayBeFooter) {
      footer.push({ deferredProblems, texts: text === '' ? [] : [text], counted });
      currentProblems = deferredProblems;
      return;
    }
    refuseFooter();
    deferredProblems.forEach(report);
  }

  function endTable(): void {
    if (footer.length > 0 && table !== undefined) {
      problems.warning(createIgnoredFooter(footer, table));
      footerRows += footer.reduce((sum, { counted }) => sum + counted, 0);
    }
    [footer, currentProblems, hasBars] = [[], null, false];
  }

  /** Returns true if a text is the number of rows above it. Files of EOD Historical Data end with such a number. */
  const isCount = (text: string) => text === String(rows.rows - 1 - rowsBefore);

  function beginFile(...parameters: [string, readonly string[], string?, Heading?]): MarketFile | undefined {
    endTable();
    rowsBefore = rows.rows;
    return (table = rows.beginFile(...parameters));
  }

  function beginRow(code: number | undefined, day: Day | undefined): void {
    rows.beginRow(code, day);
    const deferredProblems = keys;
    keys = [];
    currentProblems = null;
    if (day === undefined) {
      if (deferredProblems.length > 0) settle(deferredProblems, findFooterText(deferredProblems), 1); // a row without footer text reports its problems
      return;
    }
    if (footer.length > 0) refuseFooter();
    hasBars = true;
    deferredProblems.forEach(report);
  }

  function addCells(file: MarketFile, cells: readonly (Cell | undefined)[] | null): void {
    const deferredProblems: DeferredProblem[] = [];
    const earlierRows = rows.rows;
    catching(deferredProblems, () => rows.addCells(file, cells));
    const text = cells === null ? undefined : findFooterText(deferredProblems);
    if (deferredProblems.length === 0 && rows.rows > earlierRows) {
      if (footer.length > 0) refuseFooter();
      hasBars = true;
    } else if (deferredProblems.length > 0)
      settle(
        deferredProblems,
        text === '' && !cells!.every((cell) => readText(cell) === null) ? undefined : text,
        rows.rows - earlierRows,
      );
  }

  return {
    ...rows,
    beginFile,
    beginRow,
    addCells,
    codeOf: (file, text) => catching(keys, () => rows.codeOf(file, text)),
    dayOf: (file, cell) => catching(keys, () => rows.dayOf(file, cell)),
    setNumber(file, column, value) {
      if (currentProblems !== null && footer.at(-1)!.texts.length === 0) refuseFooter(); // a bar without a day is not part of a footer
      rows.setNumber(file, column, value);
    },
    refuseNumber(file, column, text) {
      if (currentProblems === null) rows.refuseNumber(file, column, text);
      else catching(currentProblems, () => rows.refuseNumber(file, column, text));
    },
    refuseRow(file, message, first) {
      const deferredProblems: DeferredProblem[] = [];
      catching(deferredProblems, () => rows.refuseRow(file, message, first));
      settle(deferredProblems, first !== undefined && (isSentence(first) || isCount(first)) ? first : undefined, 1);
    },
    toPanels(reference) {
      endTable();
      return rows.toPanels(reference);
    },
    get rows() {
      return rows.rows - footerRows;
    },
  };
}

/** Row that may belong to a footer: its problems, its texts and its number of counted rows. */
interface FooterRow {
  readonly deferredProblems: DeferredProblem[];
  readonly texts: string[];
  readonly counted: number;
}

/** Collector of problems. It can keep problems back while the kind of their row is unknown. */
interface ProblemCatcher {
  readonly problems: Problems;
  readonly report: (problem: DeferredProblem) => void;
  /** Runs `read` and adds its problems to a list without reporting them. */
  catching<T>(deferredProblems: DeferredProblem[], read: () => T): T;
}

function createCatcher(problems: Problems): ProblemCatcher {
  let caughtProblems: DeferredProblem[] | null = null;
  return {
    problems: {
      ...problems,
      get errors() {
        return problems.errors;
      },
      error: (problem, times) =>
        caughtProblems === null ? problems.error(problem, times) : void caughtProblems.push({ problem, times }),
    },
    report: ({ problem, times }) => problems.error(problem, times),
    catching(deferredProblems, read) {
      caughtProblems = deferredProblems;
      try {
        return read();
      } finally {
        caughtProblems = null;
      }
    },
  };
}

/** Returns the warning about a footer, quoting its first texts. */
function createIgnoredFooter(footer: readonly FooterRow[], table: MarketFile): DataProblem {
  const texts = footer.flatMap((row) => row.texts);
  const quotedTexts = texts.slice(0, QUOTED_ROWS_MAX).map((text) => JSON.stringify(text.slice(0, 60)));
  const rowsText = footer.length === 1 ? 'The last row holds' : `The last ${footer.length} rows hold`;
  return {
    code: 'BAD_DATE',
    path: footer[0]!.deferredProblems[0]?.problem.path ?? formatCellPath(table.label, 0, ''),
    message: `${rowsText} no day${quotedTexts.length === 0 ? '' : `, but ${quotedTexts.join(', ')}`}: ignored as a footer.`,
  };
}

/** Returns the text in the date column. Returns undefined if it does not belong to a footer. */
function findFooterText(deferredProblems: readonly DeferredProblem[]): string | undefined {
  const result = deferredProblems.find(({ problem }) => problem.code === 'BAD_DATE')?.problem;
  if (result === undefined) return undefined;
  const text = typeof result.value === 'string' ? result.value.trim() : '';
  return isFooterText(text) ? text : undefined;
}
