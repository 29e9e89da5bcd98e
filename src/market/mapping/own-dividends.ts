import type { Mapping } from '#domain/documents/mapping.js';
import type { Problems } from '../tables/problems.js';

const DIVIDEND_COLUMNS = /^(cash)?dividends?(cash)?$|^div(cash|amount)$/;

/** Returns the vendor's column of cash dividends, such as Dividends or divCash. Returns undefined if there is none. */
export const findDividendColumn = (columns: readonly string[]): string | undefined =>
  columns.find((name) => DIVIDEND_COLUMNS.test(name.toLowerCase().replaceAll(/[^a-z]/g, '')));

/**
 * Returns a function that reports once that the dividends of a vendor are ignored. The report explains how to use them.
 */
export function createDividendReader({ columns, adjusted_close: adjusted, ignore }: Mapping, problems: Problems) {
  let isReported = false;
  return (written: readonly string[]) => {
    const dividendColumn = findDividendColumn(written);
    if (isReported || dividendColumn === undefined || Object.values(columns).includes(dividendColumn)) return;
    if (adjusted === null && !ignore.includes(dividendColumn)) return; // mapped like any other field
    isReported = true;
    const [used, instead] =
      adjusted === null
        ? ['none are read', 'Where closes are not adjusted for them']
        : [`those derived from ${adjusted} are used`, 'To use its own, without adjusted_close'];
    problems.warning({
      code: 'COLUMN_IGNORED',
      path: `market.${dividendColumn}`,
      message: `${dividendColumn} holds the vendor's own dividends; ${used}. ${instead}, give them as the table corporate_actions.`,
    });
  };
}
