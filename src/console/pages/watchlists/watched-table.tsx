import { useMemo } from 'preact/hooks';
import { Banner } from '../../components/banner.js';
import { Button } from '../../components/button.js';
import { ValueSkeleton } from '../../components/skeleton.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { getParameter } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { getChosenStore } from '../../state/stores.js';
import { formatSecurityAddress } from '../../words/addresses.js';
import { formatCount } from '../../words/numbers.js';
import { formatSecuritiesKey, readAllSecurities } from '../names/name-table.js';
import { findLastDate } from '../names/security-figures.js';
import { formatNames } from './list-summary.js';
import {
  createColumns,
  createRemoveColumn,
  findCommonCurrency,
  hasTraded,
  YEAR_COLUMNS,
  type Row,
  type Security,
} from './watched-columns.js';
import { WatchedFigures } from './watched-figures.js';
import { listSecurities, PRICED_MAX, usePricedRows } from './watched-rows.js';

/** Number of securities above which the table can be searched. A shorter list is read at a glance. */
const SEARCHED_MIN = 8;

interface EditedTableProps {
  readonly identifiers: readonly string[];
  /** Removes securities from the list. If absent, the list cannot be edited. */
  readonly onRemove?: ((identifiers: readonly string[]) => void) | undefined;
}

/** Renders the securities of one watchlist. */
export function EditedTable({ identifiers, onRemove }: EditedTableProps) {
  const store = getChosenStore();
  const names = useResource(formatSecuritiesKey(store), (signal) => readAllSecurities(signal, store));
  return (
    <Answered resource={names} what="the securities">
      {(all) => <PricedTable all={all} identifiers={identifiers} onRemove={onRemove} />}
    </Answered>
  );
}

function PricedTable({ all, identifiers, onRemove }: EditedTableProps & { readonly all: readonly Security[] }) {
  const rows = usePricedRows(listSecurities(all, identifiers));
  return <WatchedTable rows={rows} lastDate={findLastDate(all)} onRemove={onRemove} />;
}

interface WatchedTableProps extends Pick<EditedTableProps, 'onRemove'> {
  readonly rows: readonly Row[];
  /** Last date of the data store; empty if it has no prices. */
  readonly lastDate: string;
}

/** Renders securities in the order of their watchlist. Each has its returns and a line chart of the last year. */
export function WatchedTable({ rows, lastDate, onRemove }: WatchedTableProps) {
  const store = getChosenStore();
  const currency = findCommonCurrency(rows);
  const isTraded = hasTraded(rows, lastDate);
  const missing = rows.filter(({ isMissing }) => isMissing);
  // Without a current price there are no returns.
  const columns = useMemo(
    () => createColumns({ lastDate, currency }).filter(({ id }) => isTraded || !YEAR_COLUMNS.has(id)),
    [lastDate, currency, isTraded],
  );
  const isAwaited = rows.some((row) => row.isAwaited);
  return (
    <>
      {onRemove !== undefined && missing.length > 0 && <MissingBanner missing={missing} onRemove={onRemove} />}
      <WatchedFigures rows={rows} lastDate={lastDate} />
      <p class="quiet">{formatTerms(rows, lastDate, currency)}</p>
      <Table
        label="names"
        name="watched"
        columns={[
          ...(isAwaited ? columns.map(createAwaitedColumn) : columns),
          ...(onRemove === undefined ? [] : [createRemoveColumn((identifier) => onRemove([identifier]))]),
        ]}
        rows={rows}
        getKey={({ identifier }) => identifier}
        formatAddress={({ identifier }) => formatSecurityAddress(identifier, store)}
        {...(rows.length > SEARCHED_MIN && { searchIn: formatSearchText })}
        height={560}
      />
      {rows.filter(({ isMissing }) => !isMissing).length > PRICED_MAX && (
        <p class="quiet">Returns are read for the first {formatCount(PRICED_MAX)} securities.</p>
      )}
    </>
  );
}

interface MissingProps {
  /** Securities of the list that are not in the data store. */
  readonly missing: readonly Row[];
  onRemove(identifiers: readonly string[]): void;
}

/** Renders what to do about securities that are not in the data store. */
const MissingBanner = ({ missing, onRemove }: MissingProps) => (
  <Banner
    kind="warning"
    title={`${formatNames(missing)} ${missing.length === 1 ? 'is' : 'are'} not in the store`}
    action={
      <Button onClick={() => onRemove(missing.map(({ identifier }) => identifier))}>
        {missing.length === 1 ? 'Remove it' : 'Remove them'}
      </Button>
    }
  >
    Correct the identifier under Edit the list, or remove the security.
  </Banner>
);

const formatSearchText = ({ identifier, name, sector }: Row): string => `${identifier} ${name ?? ''} ${sector ?? ''}`;

/** Describes the currency and the last date of the closes, and the order of the rows. */
function formatTerms(rows: readonly Row[], lastDate: string, currency: string | null): string {
  const isTraded = hasTraded(rows, lastDate);
  const closes = `Closes and market caps${currency === null ? '' : ` in ${currency}`}${isTraded ? ` to ${lastDate}` : ''}`;
  const order = getParameter('watched.sort') === null ? 'in the order of the list' : 'sorted by a column';
  return `${closes}, ${order}.${isTraded || lastDate === '' ? '' : ` No security has a price on ${lastDate}.`}`;
}

/** Returns a column that shows an outline while its values are loading. */
const createAwaitedColumn = (column: Column<Row>): Column<Row> =>
  YEAR_COLUMNS.has(column.id)
    ? { ...column, show: (row) => (row.isAwaited ? <ValueSkeleton /> : (column.show ?? column.value)(row)) }
    : column;
