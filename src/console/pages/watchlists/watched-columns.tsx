import type { IdentifierSearch } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Icon } from '../../components/icon.js';
import { addSign } from '../../components/signed.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { formatCompact } from '../../words/amounts.js';
import { subtractMonths } from '../../words/dates.js';
import { formatChange, formatDecimal, formatMoney, MISSING_TEXT } from '../../words/numbers.js';
import { computeDayReturn, computeReturnOver, computeYearToDate, type YearPrices } from '../names/last-year.js';
import { YearLine } from '../names/year-line.js';
import './watchlists.css';

export type Security = IdentifierSearch['identifiers'][number];

/** A security of a watchlist with its closes of the last year. */
export interface Row extends Security {
  /** True if the data store does not contain the security. All its values are then unknown. */
  readonly isMissing: boolean;
  readonly year: YearPrices | undefined;
  /** True while the last year is loading. */
  readonly isAwaited: boolean;
}

interface ColumnsTerms {
  /** Last date of the data store; empty if it has no prices. */
  readonly lastDate: string;
  /** Currency of all securities; null if they differ. Each amount then has its currency. */
  readonly currency: string | null;
}

/** Returns true if a security has a close on the last date of the data store. */
export const hasTraded = (rows: readonly Row[], lastDate: string): boolean => rows.some(({ end }) => end === lastDate);

/** Returns the currency of all securities; null if they differ or are unknown. */
export function findCommonCurrency(rows: readonly Row[]): string | null {
  const [currency = null, ...others] = new Set(rows.filter(({ isMissing }) => !isMissing).map((row) => row.currency));
  return others.length === 0 ? currency : null;
}

/** Columns that depend on the last year. */
export const YEAR_COLUMNS: ReadonlySet<string> = new Set(['day', 'month', 'ytd', 'year', 'line']);

/**
 * Returns the columns. A security that ended or is missing has its reason next to the company. Its returns are not
 * shown, because they would be read as current.
 */
export const createColumns = (terms: ColumnsTerms): readonly Column<Row>[] => [
  {
    id: 'identifier',
    title: 'Security',
    width: 76,
    ideal: 110,
    value: ({ identifier }) => identifier,
    show: ({ identifier }) => <strong>{identifier}</strong>,
  },
  createCompanyColumn(terms),
  { id: 'sector', title: 'Sector', width: 186, grow: 1, priority: 7, below: 'nothing', value: ({ sector }) => sector },
  createCloseColumn(terms),
  createReturnColumn(terms, { id: 'day', title: '1 day', width: 72, of: ({ year }) => computeDayReturn(year) }),
  createReturnColumn(terms, {
    id: 'month',
    title: '1 month',
    priority: 6,
    below: 'nothing',
    of: ({ year }) => computeReturnOver(year, 1),
  }),
  createReturnColumn(terms, { id: 'ytd', title: 'YTD', width: 76, of: ({ year }) => computeYearToDate(year) }),
  createReturnColumn(terms, {
    id: 'year',
    title: '1 year',
    priority: 3,
    below: 'nothing',
    of: ({ year }) => computeReturnOver(year, 12),
  }),
  createLineColumn(terms),
  createCapitalColumn(terms),
  {
    id: 'end',
    title: 'Last session',
    width: 100,
    priority: 5,
    below: 'nothing',
    value: ({ end }) => end,
    show: (row) => <span class={isPast(row, terms) ? 'quiet' : ''}>{row.end ?? MISSING_TEXT}</span>,
  },
];

export const createRemoveColumn = (onRemove: (identifier: string) => void): Column<Row> => ({
  id: 'remove',
  title: '',
  width: 50,
  value: () => null,
  show: ({ identifier }) => (
    <Button kind="bare" aria-label={`Remove ${identifier} from the list`} onClick={() => onRemove(identifier)}>
      <Icon name="close" />
    </Button>
  ),
});

/** Returns true if a security has no current values. */
const isPast = (row: Row, terms: ColumnsTerms): boolean => row.isMissing || isEnded(row, terms);

/** Returns true if the prices of a security end before those of the data store. */
const isEnded = ({ end }: Row, { lastDate }: ColumnsTerms): boolean => end !== null && end < lastDate;

const createCompanyColumn = (terms: ColumnsTerms): Column<Row> => ({
  id: 'company',
  title: 'Company',
  width: 230,
  grow: 1,
  priority: 2,
  value: ({ name, isMissing }) => (isMissing ? 'not in the store' : name),
  show: (row) => <Company row={row} terms={terms} />,
});

function Company({ row, terms }: { readonly row: Row; readonly terms: ColumnsTerms }) {
  if (row.isMissing)
    return (
      <Badge kind="warning" title="Choose the data store that contains it, or correct the identifier">
        not in the store
      </Badge>
    );
  if (row.end !== null && !isEnded(row, terms)) return <>{row.name}</>;
  return (
    <>
      {row.name}{' '}
      <Badge kind="warning" title={`The data store has prices to ${terms.lastDate}`}>
        {row.end === null ? 'no price' : `ended ${row.end}`}
      </Badge>
    </>
  );
}

const createCloseColumn = ({ currency, ...terms }: ColumnsTerms): Column<Row> => ({
  id: 'close',
  title: 'Last close',
  help: currency === null ? 'As traded, in the currency of the security' : `As traded, in ${currency}`,
  width: currency === null ? 112 : 84,
  align: 'right',
  value: ({ close }) => close,
  show: (row) => (
    <span class={isPast(row, { currency, ...terms }) ? 'quiet' : ''}>
      {formatMoney(
        formatDecimal(row.close, row.close !== null && row.close < 1 ? 4 : 2),
        currency === null ? row.currency : null,
      )}
    </span>
  ),
});

const createCapitalColumn = ({ currency, lastDate }: ColumnsTerms): Column<Row> => ({
  id: 'cap',
  title: 'Market cap',
  help: `On the date of the last close, in ${currency ?? 'the currency of the security'}`,
  width: 104,
  priority: 4,
  below: 'nothing',
  align: 'right',
  value: (row) => row.market_cap,
  show: (row) => (
    <span class={isPast(row, { currency, lastDate }) ? 'quiet' : ''}>
      {formatMoney(formatCompact(row.market_cap), currency === null ? row.currency : null)}
    </span>
  ),
});

interface ReturnColumn extends Pick<Column<Row>, 'id' | 'title' | 'priority' | 'below'> {
  readonly width?: number;
  of(row: Row): number | null;
}

function createReturnColumn(terms: ColumnsTerms, { of, width = 80, ...column }: ReturnColumn): Column<Row> {
  return {
    ...createNumericColumn<Row>({
      ...column,
      help: 'With dividends, in the currency of the security',
      width,
      of: (row) => (isPast(row, terms) ? null : of(row)),
      write: addSign,
    }),
    show: (row) =>
      isPast(row, terms) ? (
        <span class="quiet" title={row.isMissing ? undefined : `${formatChange(of(row))} to ${row.end}`}>
          {MISSING_TEXT}
        </span>
      ) : (
        addSign(of(row))
      ),
  };
}

/** Returns the column of lines. Their time axis is the year to the last date of the data store. */
const createLineColumn = ({ lastDate }: ColumnsTerms): Column<Row> => ({
  id: 'line',
  title: '1-year chart',
  help: `Closes with dividends in the year to ${lastDate}`,
  width: 120,
  priority: 2,
  below: 'nothing',
  value: () => null,
  show: ({ identifier, year }) =>
    year === undefined || year.dates.at(-1)! <= subtractMonths(lastDate, 12) ? (
      <></>
    ) : (
      <YearLine year={year} end={lastDate} label={`Last year of ${identifier}`} />
    ),
});
