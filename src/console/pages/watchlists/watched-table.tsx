import type { IdentifierSearch } from '#clients/typescript/divisor.js';
import { useMemo, useRef } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { ValueSkeleton } from '../../components/skeleton.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { Button } from '../../components/button.js';
import { Icon } from '../../components/icon.js';
import { addSign } from '../../components/signed.js';
import { useResource } from '../../state/resource.js';
import { formatSecurityAddress } from '../../words/addresses.js';
import { formatCompact } from '../../words/amounts.js';
import { subtractMonths } from '../../words/dates.js';
import { formatChange, formatCount, formatDecimal, formatMoney } from '../../words/numbers.js';
import {
  computeDayReturn,
  computeReturnOver,
  computeYearToDate,
  readYears,
  type YearPrices,
} from '../names/last-year.js';
import { getParameter } from '../../state/location.js';
import { getChosenStore } from '../../state/stores.js';
import { formatSecuritiesKey, readAllSecurities } from '../names/name-table.js';
import { findLastDate } from '../names/security-figures.js';
import { YearLine } from '../names/year-line.js';
import { WatchedFigures } from './watched-figures.js';

export type Security = IdentifierSearch['identifiers'][number];

/** Maximum number of securities whose prices are read. Each needs a request. */
const PRICED_MAX = 100;
/** Number of securities above which the table can be searched. A shorter list is read at a glance. */
const SEARCHED_MIN = 8;
/** A security with its closes of the last year. */
export interface Row extends Security {
  readonly year: YearPrices | undefined;
  /** True while the last year is loading. */
  readonly isAwaited: boolean;
}

interface WatchedTableProps {
  readonly identifiers: readonly string[];
  /** Removes a security from the list. If absent, the list cannot be edited. */
  readonly onRemove?: ((identifier: string) => void) | undefined;
}

/** Renders securities in the order of their watchlist. Each has its returns and a line chart of the last year. */
export function WatchedTable({ identifiers, onRemove }: WatchedTableProps) {
  const store = getChosenStore();
  const names = useResource(formatSecuritiesKey(store), (signal) => readAllSecurities(signal, store));
  return (
    <Answered resource={names} what="the securities">
      {(all) => {
        const securities = selectChosen(all, identifiers);
        const listedIds = new Set(securities.map(({ identifier }) => identifier));
        const missingIdentifiers = identifiers.filter((identifier) => !listedIds.has(identifier));
        return (
          <PricedTable
            securities={securities}
            missing={missingIdentifiers}
            lastDate={findLastDate(all)}
            onRemove={onRemove}
          />
        );
      }}
    </Answered>
  );
}

const selectChosen = (all: readonly Security[], identifiers: readonly string[]): readonly Security[] => {
  const rowById = new Map(all.map((row) => [row.identifier, row]));
  return identifiers.flatMap((identifier) => rowById.get(identifier) ?? []);
};

interface PricedTableProps extends Pick<WatchedTableProps, 'onRemove'> {
  readonly securities: readonly Security[];
  /** Identifiers that are not in the data store. */
  readonly missing: readonly string[];
  /** Last date of the data store; empty if it has no prices. */
  readonly lastDate: string;
}

function PricedTable({ securities, missing, lastDate, onRemove }: PricedTableProps) {
  const store = getChosenStore();
  const pricedSecurities = securities.slice(0, PRICED_MAX);
  /** Years that were already read. Only the years of added securities are requested. */
  const read = useRef(new Map<string, YearPrices>());
  const formatKey = ({ identifier, end }: Security) => `${store} ${identifier} ${end}`;
  const years = useResource(
    `years ${pricedSecurities.map(formatKey).join(' ')}`,
    async (signal) => {
      const missing = pricedSecurities.filter((security) => !read.current.has(formatKey(security)));
      const missingYears = await readYears(missing, signal, store);
      for (const security of missing) {
        const year = missingYears.get(security.identifier);
        if (year !== undefined) read.current.set(formatKey(security), year);
      }
      return new Map(pricedSecurities.flatMap((one) => listEntries(one.identifier, read.current.get(formatKey(one)))));
    },
    { follows: false },
  );
  const isAwaited = years.data === undefined && years.trouble === null;
  const pricedIds = new Set(pricedSecurities.map(({ identifier }) => identifier));
  const rows = securities.map((security): Row => {
    const year = years.data?.get(security.identifier) ?? read.current.get(formatKey(security));
    return { ...security, year, isAwaited: isAwaited && year === undefined && pricedIds.has(security.identifier) };
  });
  const hasEnded = rows.some((row) => isEnded(row, lastDate));
  const columns = useMemo(() => createColumns(lastDate, hasEnded), [lastDate, hasEnded]);
  return (
    <>
      <WatchedFigures rows={rows} missing={missing} lastDate={lastDate} />
      <p class="quiet">{formatOrder(lastDate)}</p>
      <Table
        label="names"
        name="watched"
        columns={[
          ...(isAwaited ? columns.map(createAwaitedColumn) : columns),
          ...(onRemove === undefined ? [] : [createRemoveColumn(onRemove)]),
        ]}
        rows={rows}
        getKey={({ identifier }) => identifier}
        formatAddress={({ identifier }) => formatSecurityAddress(identifier, store)}
        {...(rows.length > SEARCHED_MIN && { searchIn: formatSearchText })}
        height={560}
      />
      {securities.length > PRICED_MAX && (
        <p class="quiet">Returns are read for the first {formatCount(PRICED_MAX)} securities.</p>
      )}
    </>
  );
}

const formatSearchText = ({ identifier, name, sector }: Row): string => `${identifier} ${name ?? ''} ${sector ?? ''}`;

const listEntries = (identifier: string, year: YearPrices | undefined): readonly (readonly [string, YearPrices])[] =>
  year === undefined ? [] : [[identifier, year]];

const createRemoveColumn = (onRemove: (identifier: string) => void): Column<Row> => ({
  id: 'remove',
  title: '',
  width: 40,
  value: () => null,
  show: ({ identifier }) => (
    <Button kind="bare" aria-label={`Remove ${identifier} from the list`} onClick={() => onRemove(identifier)}>
      <Icon name="close" />
    </Button>
  ),
});

/** Describes the last date of the prices and the order of the rows. */
function formatOrder(lastDate: string): string {
  const order = getParameter('watched.sort') === null ? 'In the order of the list' : 'Sorted by a column';
  return `${order}${lastDate === '' ? '' : `, returns to ${lastDate} or the last close before it`}.`;
}

/** Columns of returns, and all columns that depend on the last year. */
const RETURN_COLUMNS: ReadonlySet<string> = new Set(['day', 'month', 'ytd', 'year']);
const YEAR_COLUMNS: ReadonlySet<string> = new Set([...RETURN_COLUMNS, 'line']);

/** Returns a column that shows an outline while its values are loading. */
const createAwaitedColumn = (column: Column<Row>): Column<Row> =>
  YEAR_COLUMNS.has(column.id)
    ? { ...column, show: (row) => (row.isAwaited ? <ValueSkeleton /> : (column.show ?? column.value)(row)) }
    : column;

const RETURN_HELP = 'With dividends, in the currency of the security';

/** Returns true if the prices of a security end before those of the data store. */
const isEnded = ({ end }: Row, lastDate: string): boolean => end !== null && end < lastDate;

/** Returns the column of securities, which is wider if it marks securities that ended. */
const createIdentifierColumn = (lastDate: string, hasEnded: boolean): Column<Row> => ({
  id: 'identifier',
  title: 'Security',
  width: hasEnded ? 188 : 84,
  grow: 1,
  value: ({ identifier }) => identifier,
  show: (row) => (
    <>
      <strong>{row.identifier}</strong>
      {isEnded(row, lastDate) && (
        <>
          {' '}
          <Badge kind="warning" title={`No price since ${row.end}; the data store ends on ${lastDate}`}>
            {`ended ${row.end}`}
          </Badge>
        </>
      )}
    </>
  ),
});

const COLUMNS: readonly Column<Row>[] = [
  { id: 'company', title: 'Company', width: 104, grow: 1, priority: 2, value: ({ name }) => name },
  { id: 'sector', title: 'Sector', width: 186, grow: 1, priority: 7, value: ({ sector }) => sector },
  {
    id: 'close',
    title: 'Last close',
    help: 'As traded, in the currency of the security',
    width: 112,
    align: 'right',
    value: ({ close }) => close,
    show: ({ close, currency }) => formatMoney(formatDecimal(close, close !== null && close < 1 ? 4 : 2), currency),
  },
  createNumericColumn({
    id: 'day',
    title: '1 day',
    help: RETURN_HELP,
    width: 76,
    of: ({ year }) => computeDayReturn(year),
    write: addSign,
  }),
  createNumericColumn({
    id: 'month',
    title: '1 month',
    help: RETURN_HELP,
    width: 80,
    priority: 6,
    of: ({ year }: Row) => computeReturnOver(year, 1),
    write: addSign,
  }),
  createNumericColumn({
    id: 'ytd',
    title: 'YTD',
    help: 'Year to date, with dividends, in the currency of the security',
    width: 80,
    priority: 3,
    of: ({ year }) => computeYearToDate(year),
    write: addSign,
  }),
  createNumericColumn({
    id: 'year',
    title: '1 year',
    help: RETURN_HELP,
    width: 80,
    priority: 2,
    of: ({ year }: Row) => computeReturnOver(year, 12),
    write: addSign,
  }),
  {
    id: 'cap',
    title: 'Market cap',
    help: 'On the date of the last close, in the currency of the security',
    width: 104,
    priority: 4,
    align: 'right',
    value: (row) => row.market_cap,
    show: (row) => formatMoney(formatCompact(row.market_cap), row.currency),
  },
  { id: 'end', title: 'Last session', width: 100, priority: 5, value: ({ end }) => end },
];

/** Returns the column of lines, whose time axis is the year to the given date. */
const createLineColumn = (axisEnd: string): Column<Row> => ({
  id: 'line',
  title: '1-year chart',
  help: `Closes with dividends in the year to ${axisEnd}`,
  width: 120,
  priority: 2,
  value: () => null,
  show: ({ identifier, year }) =>
    year === undefined ? (
      ''
    ) : year.dates.at(-1)! <= subtractMonths(axisEnd, 12) ? (
      <span class="quiet">no close in the year</span>
    ) : (
      <YearLine year={year} end={axisEnd} label={`Last year of ${identifier}`} />
    ),
});

/** Returns the columns, the lines in front of the market capitalisation. */
const createColumns = (lastDate: string, hasEnded: boolean): readonly Column<Row>[] => {
  const at = COLUMNS.findIndex(({ id }) => id === 'cap');
  const columns = COLUMNS.map((column) => (RETURN_COLUMNS.has(column.id) ? muteEnded(column, lastDate) : column));
  return [createIdentifierColumn(lastDate, hasEnded), ...columns.toSpliced(at, 0, createLineColumn(lastDate))];
};

/** Returns a column that shows the returns of ended securities without colour, because they are of an earlier date. */
const muteEnded = (column: Column<Row>, lastDate: string): Column<Row> => ({
  ...column,
  show: (row) =>
    isEnded(row, lastDate) ? (
      <span class="quiet" title={`Return to ${row.end}`}>
        {formatChange(column.value(row) as number | null)}
      </span>
    ) : (
      column.show?.(row)
    ),
});
