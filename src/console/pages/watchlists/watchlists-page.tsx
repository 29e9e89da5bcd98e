import type { Watchlist } from '#clients/typescript/divisor.js';
import { Answered, Badge, EmptyState } from '../../components/feedback.js';
import { Icon, LinkButton } from '../../components/controls/button.js';
import { Page, Section } from '../../components/layout/page.js';
import { addSign } from '../../components/layout/facts.js';
import { type Column, createNumericColumn } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { getParameter, setParameters } from '../../state/location.js';
import { may, service, useResource } from '../../state/service.js';
import { getChosenStore } from '../../state/stores.js';
import { formatWatchlistAddress } from '../../words/addresses.js';
import { formatCompact } from '../../words/quantities.js';
import { formatMoment } from '../../words/dates.js';
import { formatCount, formatMoney } from '../../words/numbers.js';
import { findLastDate, formatSecuritiesKey, readAllSecurities } from '../names/name-table.js';
import {
  listSecurities,
  type ListSummary,
  type Row,
  type Security,
  summariseList,
  usePricedRows,
  WatchedTable,
} from './watched-table.js';

/** Number of watchlists above which the table has a search. */
const SEARCH_MIN = 8;

/** Page of the watchlists. */
export function WatchlistsPage() {
  const store = getChosenStore();
  const lists = useResource('watchlists', (signal) => service.value.call('listWatchlists', { signal }));
  const names = useResource(formatSecuritiesKey(store), (signal) => readAllSecurities(signal, store));
  const add = may('write') && (
    <LinkButton kind="main" href="/console/watchlists/new">
      <Icon name="plus" /> New watchlist
    </LinkButton>
  );
  return (
    <Page title="Watchlists" above={[{ address: '/console/data', text: 'Data' }]} actions={add}>
      <Answered resource={lists} what="the watchlists">
        {({ watchlists }) =>
          watchlists.length === 0 ? (
            <EmptyState title="No watchlist yet">
              A watchlist is an ordered list of securities, with their returns. It may be the universe of an index.
            </EmptyState>
          ) : (
            <Answered resource={names} what="the securities">
              {(all) => <Lists lists={watchlists} all={all} />}
            </Answered>
          )
        }
      </Answered>
    </Page>
  );
}

/** A watchlist with its securities. */
interface PricedList extends Watchlist, ListSummary {
  readonly rows: readonly Row[];
  /** True while the prices of a security are loading. */
  readonly isAwaited: boolean;
}

interface ListsProps {
  readonly lists: readonly Watchlist[];
  /** Securities of the data store. */
  readonly all: readonly Security[];
}

/** Renders the watchlists, and the securities of the selected one. By default it is the list that was saved last. */
function Lists({ lists, all }: ListsProps) {
  const lastDate = findLastDate(all);
  const shown =
    lists.find(({ watchlist_id: id }) => id === getParameter('list')) ??
    lists.reduce((latest, list) => (list.updated_at > latest.updated_at ? list : latest));
  // The prices of the selected list are read first.
  const identifiers = [...new Set([shown, ...lists].flatMap((list) => list.identifiers))];
  const rowById = new Map(usePricedRows(listSecurities(all, identifiers)).map((row) => [row.identifier, row]));
  const pricedLists = lists.map((list): PricedList => {
    const rows = list.identifiers.map((identifier) => rowById.get(identifier)!); // every identifier has a row
    return { ...list, ...summariseList(rows, lastDate), rows, isAwaited: rows.some((row) => row.isAwaited) };
  });
  const { rows } = pricedLists.find(({ watchlist_id: id }) => id === shown.watchlist_id)!; // the shown list is one of them
  return (
    <>
      <Table
        label="watchlists"
        name="lists"
        columns={COLUMNS}
        rows={pricedLists}
        getKey={({ watchlist_id: id }) => id}
        openKey={shown.watchlist_id}
        onOpen={({ watchlist_id: id }) => setParameters({ list: id })}
        {...(lists.length > SEARCH_MIN && { searchIn: ({ watchlist_id: id, name }) => `${id} ${name}` })}
        sort={{ column: 'name', direction: 'asc' }}
        height={240}
      />
      <Section
        title={shown.name}
        aside={<LinkButton href={formatWatchlistAddress(shown.watchlist_id, getChosenStore())}>Edit</LinkButton>}
      >
        <WatchedTable key={shown.watchlist_id} rows={rows} lastDate={lastDate} />
      </Section>
    </>
  );
}

/** Returns a column of a median, which is unknown while the prices of a security are loading or not read. */
const createMedianColumn = (
  column: Pick<Column<PricedList>, 'id' | 'title' | 'priority'>,
  of: (list: PricedList) => number | null,
): Column<PricedList> =>
  createNumericColumn<PricedList>({
    ...column,
    help: 'Median of the securities with a price on the last date of the data store',
    width: 110,
    of: (list) => (list.isAwaited || list.traded.some(({ year }) => year === undefined) ? null : of(list)),
    write: addSign,
  });

const COLUMNS: readonly Column<PricedList>[] = [
  {
    id: 'name',
    title: 'Watchlist',
    width: 110,
    grow: 2,
    value: ({ name }) => name,
    show: ({ name, watchlist_id: id }) => <strong title={id}>{name}</strong>,
  },
  {
    id: 'names',
    title: 'Securities',
    width: 206,
    grow: 1,
    value: (list) => list.rows.length,
    show: ({ rows, ended, missing }) => (
      <>
        {formatCount(rows.length)} <Note rows={ended} state="ended" /> <Note rows={missing} state="not in the store" />
      </>
    ),
  },
  createMedianColumn({ id: 'day', title: 'Median 1 day', priority: 4 }, ({ medianDay }) => medianDay),
  createMedianColumn({ id: 'ytd', title: 'Median YTD', priority: 2 }, ({ medianYear }) => medianYear),
  {
    id: 'cap',
    title: 'Market cap',
    help: 'Sum of the securities with a price on the last date of the data store',
    width: 110,
    priority: 5,
    align: 'right',
    value: ({ capital }) => capital?.sum ?? null,
    show: ({ capital }) => formatMoney(formatCompact(capital?.sum ?? null), capital?.currency ?? null),
  },
  {
    id: 'at',
    title: 'Saved',
    width: 172,
    priority: 6,
    value: (row) => row.updated_at,
    show: (row) => formatMoment(row.updated_at),
  },
];

/** Renders the number of securities in a state. */
const Note = ({ rows, state }: { readonly rows: readonly Row[]; readonly state: string }) =>
  rows.length === 0 ? null : (
    <Badge kind="warning" title={rows.map(({ identifier }) => identifier).join(', ')}>
      {formatCount(rows.length)} {state}
    </Badge>
  );
