import type { Mapping } from '#domain/documents/mapping.js';
import type { Problems } from '../tables/problems.js';

/** Target names of the columns in which a vendor states actions. No column of a source can have these names. */
export const STATED_DIVIDENDS = '\u0000dividends';
export const STATED_GAINS = '\u0000capital gains';
export const STATED_SPLITS = '\u0000splits';

const STATED_COLUMNS: readonly (readonly [name: string, pattern: RegExp])[] = [
  [STATED_DIVIDENDS, /^(cash)?dividends?(cash)?$|^div(cash|amount)$/],
  [STATED_GAINS, /^(capital)(gains?)$/],
  [STATED_SPLITS, /^(stock)(splits?)$|^split(factor|ratio)?s?$/],
];

/** Returns the target name of a column in which a vendor states actions. Returns undefined for any other column. */
export function findStatedName(column: string): string | undefined {
  const word = column.toLowerCase().replaceAll(/[^a-z]/g, '');
  return STATED_COLUMNS.find(([, pattern]) => pattern.test(word))?.[0];
}

/** Returns true if the actions that a vendor states are used, or compared with those that adjusted closes imply. */
export const readsStatedActions = (mapping: Pick<Mapping, 'adjusted_close' | 'dividends_from'>): boolean =>
  mapping.adjusted_close !== null || mapping.dividends_from === 'column';

/** Returns the vendor's column of cash dividends, such as Dividends or divCash. Returns undefined if there is none. */
export const findDividendColumn = (columns: readonly string[]): string | undefined =>
  columns.find((name) => findStatedName(name) === STATED_DIVIDENDS);

/** Returns a function that reports once that the dividends of a vendor are not used, and how to use them. */
export function createDividendReader(mapping: Mapping, problems: Problems) {
  const { columns, adjusted_close: adjusted, ignore } = mapping;
  let isReported = mapping.dividends_from === 'column';
  return (written: readonly string[]) => {
    const dividendColumn = findDividendColumn(written);
    if (isReported || dividendColumn === undefined || Object.values(columns).includes(dividendColumn)) return;
    if (adjusted === null && !ignore.includes(dividendColumn)) return; // mapped like any other field
    isReported = true;
    const used =
      adjusted === null ? 'none are read' : `those derived from ${adjusted} are used, and differences are reported`;
    problems.warning({
      code: 'COLUMN_IGNORED',
      path: `market.${dividendColumn}`,
      message: `${dividendColumn} holds the vendor's own dividends; ${used}. To use its own, set dividends_from to column.`,
    });
  };
}
