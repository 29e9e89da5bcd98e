import type { Watchlist } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { LinkButton } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { Icon } from '../../components/icon.js';
import { Select } from '../../components/choice.js';
import { Page, Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { getChosenStore } from '../../state/stores.js';
import { formatWatchlistAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatCount } from '../../words/numbers.js';
import { WatchedTable } from './watched-table.js';

/** Number of watchlists above which the table has a search. */
const SEARCH_MIN = 8;

/** Maximum number of missing securities that are named in the table. */
const NAMED_MAX = 1;

/** Page of the watchlists. */
export function WatchlistsPage() {
  const lists = useResource('watchlists', (signal) => service.value.call('listWatchlists', { signal }));
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
            <>
              <Table
                label="watchlists"
                name="lists"
                columns={COLUMNS}
                rows={watchlists}
                getKey={({ watchlist_id: id }) => id}
                formatAddress={({ watchlist_id: id }) => formatWatchlistAddress(id, getChosenStore())}
                {...(watchlists.length > SEARCH_MIN && { searchIn: ({ watchlist_id: id, name }) => `${id} ${name}` })}
                sort={{ column: 'name', direction: 'asc' }}
                height={240}
              />
              <WatchlistTable lists={watchlists} />
            </>
          )
        }
      </Answered>
    </Page>
  );
}

/** Renders the securities of one watchlist with their closes. If none is selected, it is the first watchlist. */
function WatchlistTable({ lists }: { readonly lists: readonly Watchlist[] }) {
  const list = lists.find(({ watchlist_id: id }) => id === getParameter('list')) ?? lists[0]!; // there is at least one watchlist
  return (
    <Section
      title={`Securities of ${list.name}`}
      aside={
        <>
          {lists.length > 1 && (
            <Select
              label="Watchlist"
              options={lists.map(({ watchlist_id: value, name }) => ({ value, text: name }))}
              value={list.watchlist_id}
              onChoose={(chosen) => setParameters({ list: chosen })}
            />
          )}
          <LinkButton href={formatWatchlistAddress(list.watchlist_id, getChosenStore())}>Edit</LinkButton>
        </>
      }
    >
      <WatchedTable key={list.watchlist_id} identifiers={list.identifiers} hasCount={false} />
    </Section>
  );
}

const COLUMNS: readonly Column<Watchlist>[] = [
  {
    id: 'name',
    title: 'Watchlist',
    width: 110,
    grow: 2,
    value: ({ name }) => name,
    show: ({ name, watchlist_id: id }) => (
      <>
        <strong>{name}</strong> <span class="quiet">{id}</span>
      </>
    ),
  },
  {
    id: 'names',
    title: 'In the store',
    help: 'Securities in the served store, and those that it lacks',
    width: 206,
    grow: 1,
    value: ({ identifiers, unknown }) => identifiers.length - unknown.length,
    show: ({ identifiers, unknown }) => (
      <>
        {formatCount(identifiers.length - unknown.length)} of {formatCount(identifiers.length)}{' '}
        {unknown.length > 0 && (
          <Badge kind="warning" title={unknown.join(', ')}>
            without {unknown.length > NAMED_MAX ? formatCount(unknown.length) : unknown.join(', ')}
          </Badge>
        )}
      </>
    ),
  },
  {
    id: 'at',
    title: 'Saved',
    width: 172,
    priority: 3,
    value: (row) => row.updated_at,
    show: (row) => formatMoment(row.updated_at),
  },
];
