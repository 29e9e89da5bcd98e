import type { Mapping } from '#domain/documents/mapping.js';
import type { Problems } from '../tables/problems.js';

/** Matches columns with attributes of a security that are not bar fields, such as Currency, Exchange and Sector. */
const TERM_COLUMN =
  /^(currency|currencycode|ccy|waehrung|währung|devise|moneda|moeda|valuta|exchange|mic|sector|industry|country)$/;

const CURRENCY_COLUMN = /^(currency|currencycode|ccy|waehrung|währung|devise|moneda|moeda|valuta)$/;

const simplify = (name: string) => name.toLowerCase().replaceAll(/[^\p{L}]/gu, '');

/** Returns the column with the currency of prices. */
export const findCurrencyColumn = (columns: readonly string[]): string | undefined =>
  columns.find((name) => CURRENCY_COLUMN.test(simplify(name)));

/** Returns a function that reports each ignored attribute column once. The report explains how to read it. */
export function createUnreadTerms({ columns, ignore }: Mapping, problems: Problems) {
  const reportedColumns = new Set(Object.values(columns));
  return (written: readonly string[]) => {
    for (const name of written) {
      if (reportedColumns.has(name) || !ignore.includes(name) || !TERM_COLUMN.test(simplify(name))) continue;
      reportedColumns.add(name);
      const isCurrency = findCurrencyColumn([name]) !== undefined;
      const storeHint = isCurrency ? ', or as currency of the store where it is one for all' : '';
      problems.warning({
        code: 'COLUMN_IGNORED',
        path: `market.${name}`,
        column: name,
        message: `The column ${name} of the market is not read. Give it by name in the table reference${storeHint}.`,
      });
    }
  };
}
