import { useMemo, useRef } from 'preact/hooks';
import { ValueSkeleton } from '../../components/skeleton.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { formatSecurityAddress } from '../../words/addresses.js';
import { formatCount } from '../../words/numbers.js';
import { readYears, type YearPrices } from '../names/last-year.js';
import { getParameter } from '../../state/location.js';
import { getChosenStore } from '../../state/stores.js';
import { formatSecuritiesKey, readAllSecurities } from '../names/name-table.js';
import { findLastDate } from '../names/security-figures.js';
import {
  createColumns,
  createRemoveColumn,
  findCommonCurrency,
  YEAR_COLUMNS,
  type Row,
  type Security,
} from './watched-columns.js';
import { WatchedFigures } from './watched-figures.js';

/** Maximum number of securities whose prices are read. Each needs a request. */
const PRICED_MAX = 100;
/** Number of securities above which the table can be searched. A shorter list is read at a glance. */
const SEARCHED_MIN = 8;
interface WatchedTableProps {
  readonly identifiers: readonly string[];
  /** Removes a security from the list. If absent, the list cannot be edited. */
  readonly onRemove?: ((identifier: string) => void) | undefined;
  /** False if a list above states the number of securities in the store. Default: true. */
  readonly hasCount?: boolean;
}

/** Renders securities in the order of their watchlist. Each has its returns and a line chart of the last year. */
export function WatchedTable({ identifiers, onRemove, hasCount = true }: WatchedTableProps) {
  const store = getChosenStore();
  const names = useResource(formatSecuritiesKey(store), (signal) => readAllSecurities(signal, store));
  return (
    <Answered resource={names} what="the securities">
      {(all) => (
        <PricedTable
          securities={selectChosen(all, identifiers)}
          lastDate={findLastDate(all)}
          onRemove={onRemove}
          hasCount={hasCount}
        />
      )}
    </Answered>
  );
}

type ListedSecurity = Pick<Row, keyof Security | 'isMissing'>;

/** Returns the securities of a list in its order. Securities that are not in the data store have no values. */
function selectChosen(all: readonly Security[], identifiers: readonly string[]): readonly ListedSecurity[] {
  const rowById = new Map(all.map((row) => [row.identifier, row]));
  return identifiers.map((identifier) => {
    const row = rowById.get(identifier);
    return { ...(row ?? { ...UNKNOWN, identifier }), isMissing: row === undefined };
  });
}

const UNKNOWN = { name: null, start: null, end: null, sector: null, currency: null, close: null, market_cap: null };

interface PricedTableProps extends Pick<WatchedTableProps, 'onRemove'> {
  readonly hasCount: boolean;
  readonly securities: readonly ListedSecurity[];
  /** Last date of the data store; empty if it has no prices. */
  readonly lastDate: string;
}

function PricedTable({ securities, lastDate, onRemove, hasCount }: PricedTableProps) {
  const store = getChosenStore();
  const pricedSecurities = securities.filter(({ isMissing }) => !isMissing).slice(0, PRICED_MAX);
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
  const currency = findCommonCurrency(rows);
  const columns = useMemo(() => createColumns({ lastDate, currency }), [lastDate, currency]);
  return (
    <>
      <WatchedFigures rows={rows} lastDate={lastDate} hasCount={hasCount} />
      <p class="quiet">{formatOrder(lastDate, currency)}</p>
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
      {securities.filter(({ isMissing }) => !isMissing).length > PRICED_MAX && (
        <p class="quiet">Returns are read for the first {formatCount(PRICED_MAX)} securities.</p>
      )}
    </>
  );
}

const formatSearchText = ({ identifier, name, sector }: Row): string => `${identifier} ${name ?? ''} ${sector ?? ''}`;

const listEntries = (identifier: string, year: YearPrices | undefined): readonly (readonly [string, YearPrices])[] =>
  year === undefined ? [] : [[identifier, year]];

/** Describes the currency and the last date of the closes, and the order of the rows. */
function formatOrder(lastDate: string, currency: string | null): string {
  const order = getParameter('watched.sort') === null ? 'in the order of the list' : 'sorted by a column';
  return `Closes${currency === null ? '' : ` in ${currency}`}${lastDate === '' ? '' : ` to ${lastDate}`}, ${order}.`;
}

/** Returns a column that shows an outline while its values are loading. */
const createAwaitedColumn = (column: Column<Row>): Column<Row> =>
  YEAR_COLUMNS.has(column.id)
    ? { ...column, show: (row) => (row.isAwaited ? <ValueSkeleton /> : (column.show ?? column.value)(row)) }
    : column;
