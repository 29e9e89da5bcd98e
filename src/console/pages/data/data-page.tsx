import type { DataStore } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { Button, LinkButton } from '../../components/button.js';
import { Icon } from '../../components/icon.js';
import { Page, Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { storeAddress } from '../../words/addresses.js';
import { moment } from '../../words/dates.js';
import { bytes, count, countValues } from '../../words/numbers.js';
import { FirstSteps } from '../home/first-steps.js';
import { activateStore } from '../../state/actions.js';
import { GenerateDialog } from './generate-dialog.js';
import { MARKET_WORDS } from './generate-market.js';
import { StoreState } from './store-state.js';
import './data.css';

/** Page of all stores of market data, with the ways to add one. */
export function DataPage() {
  const [isAsking, setAsking] = useState(false);
  const stores = useResource('stores', (signal) => service.value.call('listStores', { signal }));
  return (
    <Page
      title="Data"
      subtitle="An index uses the store that it names, otherwise the active store."
      actions={
        <>
          <LinkButton href="/console/names">Securities</LinkButton>
          <LinkButton href="/console/watchlists">Watchlists</LinkButton>
          {may('data') && (
            <>
              {stores.data !== undefined && stores.data.active !== null && (
                <Button
                  title={`${MARKET_WORDS} It is not served until you activate it.`}
                  onClick={() => setAsking(true)}
                >
                  <Icon name="spark" /> Generate a market …
                </Button>
              )}
              <LinkButton href="/console/data/connect">
                <Icon name="data" /> Connect
              </LinkButton>
              <LinkButton kind="main" href="/console/data/import">
                <Icon name="upload" /> Import
              </LinkButton>
            </>
          )}
        </>
      }
    >
      {isAsking && (
        <GenerateDialog stores={stores.data?.stores ?? []} activate={false} onClose={() => setAsking(false)} />
      )}
      <Answered resource={stores} what="the data stores">
        {({ stores: all, active, skipped }) => (
          <>
            {active === null && <FirstSteps stores={all} />}
            {all.length > 0 && <Stores stores={all} />}
            {skipped > 0 && <p class="quiet">{countValues(skipped, 'store document')} cannot be read.</p>}
          </>
        )}
      </Answered>
    </Page>
  );
}

function Stores({ stores }: { readonly stores: readonly DataStore[] }) {
  return (
    <Section title="Stores">
      <Table
        label="stores"
        name="stores"
        columns={COLUMNS}
        rows={stores}
        keyOf={({ store_id: id }) => id}
        addressOf={({ store_id: id }) => storeAddress(id)}
        sort={{ column: 'store', direction: 'asc' }}
      />
    </Section>
  );
}

const COLUMNS: readonly Column<DataStore>[] = [
  {
    id: 'store',
    title: 'Store',
    width: 264,
    grow: 3,
    value: (store) => store.store_id,
    show: (store) => (
      <span class="store-name">
        <a href={storeAddress(store.store_id)} tabIndex={-1}>
          {store.name}
        </a>
        {store.active && <Badge kind="good">served</Badge>}
        <span class="quiet">{store.store_id}</span>
      </span>
    ),
  },
  { id: 'kind', title: 'Kind', width: 92, priority: 6, value: ({ kind }) => kind },
  numeric({
    id: 'names',
    title: 'Securities',
    width: 76,
    priority: 3,
    of: ({ identifiers }) => identifiers,
    write: count,
  }),
  { id: 'start', title: 'From', width: 96, priority: 5, value: ({ start }) => start },
  { id: 'end', title: 'To', width: 96, priority: 2, value: ({ end }) => end },
  numeric({
    id: 'size',
    title: 'Size',
    help: 'On disk',
    width: 84,
    priority: 8,
    of: (store) => store.size_bytes,
    write: bytes,
  }),
  {
    id: 'read',
    title: 'Read',
    width: 172,
    priority: 7,
    value: (store) => store.last_loaded_at,
    show: (store) => moment(store.last_loaded_at),
  },
  {
    id: 'state',
    title: 'State',
    width: 130,
    grow: 1,
    priority: 4,
    value: ({ status }) => status,
    show: (store) => <StoreState store={store} />,
  },
  {
    id: 'serve',
    title: '',
    width: 92,
    value: () => null,
    show: (store) =>
      !store.active &&
      store.status === 'ready' &&
      may('data') && (
        <Button kind="bare" aria-label={`Serve ${store.name}`} onClick={() => void activateStore(store.store_id)}>
          Serve
        </Button>
      ),
  },
];
