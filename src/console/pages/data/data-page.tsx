import './data.css';
import { useState } from 'preact/hooks';
import type { DataStore, DataVersions } from '#clients/typescript/divisor.js';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import { Answered, Badge } from '../../components/feedback.js';
import { Entries, type Entry, LinkCards, Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { createRegisterPage, type Register, RegisterTable } from '../../components/register.js';
import { type Column } from '../../components/table/model.js';
import { activateStore } from '../../state/actions.js';
import { health } from '../../state/live.js';
import { mapResource, may, type Resource, useAnswer } from '../../state/service.js';
import { useStores } from '../../state/stores.js';
import { storeAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { createEndNote, findLag } from '../../words/freshness.js';
import { countValues, formatBytes, formatCount, MISSING_TEXT } from '../../words/numbers.js';
import { FirstSteps } from '../home/first-steps.js';
import { CoverageChart } from './coverage.js';
import { GenerateDialog } from './generate-dialog.js';
import { MARKET_WORDS } from './generate-market.js';
import { StoreState, useStoreUsers, useWarningMetric } from './store-state.js';

/** Number of versions shown. */
const SHOWN = 4;

/** Renders the newest versions of the data of a store, and the rows that each version changed. */
function LatestVersions({ store: { store_id: id } }: { readonly store: DataStore }) {
  const list = useAnswer('listDataVersions', { params: { store_id: id } });
  return (
    <Section title="Latest versions" aside={<a href={`${storeAddress(id)}?tab=versions`}>All versions</a>}>
      <Answered resource={list} what="the versions of the data">
        {({ versions }) =>
          versions.length === 0 ? (
            <p class="quiet">No versions yet. A version is added when the store is served.</p>
          ) : (
            <Entries
              label={`Latest versions of ${id}`}
              entries={versions.slice(0, SHOWN).map((version) => createVersionEntry(id, version))}
            />
          )
        }
      </Answered>
    </Section>
  );
}

function createVersionEntry(store: string, version: DataVersions['versions'][number]): Entry {
  const { version: number, source, author, known_at: at, note } = version;
  const { rows_added: added, rows_changed: changed, rows_removed: removed } = version;
  return {
    key: String(number),
    title: <a href={`${storeAddress(store)}?tab=versions&version=${number}`}>Version {number}</a>,
    badge: <Badge>{source.replaceAll('_', ' ')}</Badge>,
    aside: formatMoment(at),
    text: `${formatCount(added)} rows added, ${formatCount(changed)} changed, ${formatCount(removed)} removed by ${author}.${note === null ? '' : ` ${note}`}`,
  };
}

/** Store with the number of indices that use it; null until they are read. */
interface ListedStore extends DataStore {
  readonly users: number | null;
}

const isServed = ({ active }: DataStore): boolean => active;

/** Sorts stores by name, the served store first. */
const compareStores = (a: DataStore, b: DataStore): number =>
  Number(b.active) - Number(a.active) || a.name.localeCompare(b.name);

function useListedStores(): Resource<readonly ListedStore[]> {
  const countUsers = useStoreUsers();
  return mapResource(useStores(), ({ stores }) =>
    stores.toSorted(compareStores).map((store) => ({ ...store, users: countUsers(store) })),
  );
}

const NAME_COLUMN: Column<ListedStore> = {
  id: 'store',
  title: 'Store',
  width: 264,
  grow: 3,
  value: (store) => store.name,
  show: (store) => (
    <span class="gap-2 store-name">
      <a href={storeAddress(store.store_id)} tabIndex={-1}>
        {store.name}
      </a>
      {store.active && <Badge kind="good">served</Badge>}
      <span class="quiet">{store.store_id}</span>
    </span>
  ),
};

const COLUMNS: readonly Column<ListedStore>[] = [
  NAME_COLUMN,
  { id: 'kind', title: 'Kind', width: 92, priority: 6 },
  {
    id: 'names',
    title: 'Securities',
    width: 76,
    priority: 3,
    value: ({ identifiers }) => identifiers,
    write: formatCount,
  },
  {
    id: 'indices',
    title: 'Indices',
    help: 'Indices that are computed on the store',
    width: 72,
    priority: 6,
    value: ({ users }) => users,
    write: formatCount,
  },
  { id: 'start', title: 'From', width: 96, priority: 5 },
  { id: 'end', title: 'To', width: 96, priority: 2 },
  {
    id: 'size',
    title: 'Size',
    help: 'On disk',
    width: 84,
    priority: 8,
    value: (store) => store.size_bytes,
    write: formatBytes,
  },
  {
    id: 'read',
    title: 'Read',
    width: 172,
    priority: 7,
    value: (store) => store.last_loaded_at,
    show: (store) => formatMoment(store.last_loaded_at),
  },
  {
    id: 'state',
    title: 'State',
    width: 148,
    grow: 1,
    priority: 2,
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

/** Register of all stores of market data, with the ways to add a store. */
const STORES: Register<ListedStore> = {
  title: 'Data',
  name: 'stores',
  label: 'data stores',
  subtitle: () => 'An index uses the store that it names, otherwise the served store.',
  actions: () => <StoreActions />,
  useRows: useListedStores,
  columns: COLUMNS,
  height: null,
  getKey: ({ store_id: id }) => id,
  formatAddress: ({ store_id: id }) => storeAddress(id),
  renderAbove: (stores) => (
    <>
      {!stores.some(isServed) && <FirstSteps stores={stores} />}
      {stores.length > 0 && <Figures stores={stores} />}
    </>
  ),
  renderTable: (stores) =>
    stores.length > 0 && (
      <Section title="Stores">
        <RegisterTable register={STORES} rows={stores} label="stores" />
      </Section>
    ),
  renderBelow: (stores) => (
    <>
      <Served store={stores.find(isServed)} />
      <Next served={stores.find(isServed)} />
    </>
  ),
  renderFoot: () => <UnreadableStores />,
};

export const DataPage = createRegisterPage(STORES);

/** Renders links to securities and watchlists, and the buttons that add a store. */
function StoreActions() {
  const [isAsking, setAsking] = useState(false);
  const stores = useStores();
  return (
    <>
      <LinkButton href="/console/names">Securities</LinkButton>
      <LinkButton href="/console/watchlists">Watchlists</LinkButton>
      {may('data') && (
        <>
          {stores.data !== undefined && stores.data.active !== null && (
            <Button title={`${MARKET_WORDS} It is not served until you choose Serve.`} onClick={() => setAsking(true)}>
              <Icon name="spark" />
              <span>
                Generate<span class="data-wide"> a market</span> …
              </span>
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
      {isAsking && (
        <GenerateDialog stores={stores.data?.stores ?? []} activate={false} onClose={() => setAsking(false)} />
      )}
    </>
  );
}

function UnreadableStores() {
  const { data } = useStores();
  if (data === undefined || data.skipped === 0) return null;
  return <p class="quiet">{countValues(data.skipped, 'store document')} cannot be read.</p>;
}

/** Renders figures of all stores; figures of prices are those of the served store. */
function Figures({ stores }: { readonly stores: readonly DataStore[] }) {
  const servedStore = stores.find(isServed);
  const size = stores.reduce((sum, store) => sum + (store.size_bytes ?? 0), 0);
  const failedCount = stores.filter(({ status }) => status === 'error').length;
  const warnings = useWarningMetric(servedStore);
  const lag = findLag(health.value?.freshness, servedStore?.store_id ?? null);
  return (
    <Metrics
      label="Data of the service"
      metrics={[
        {
          term: 'Stores',
          value: formatCount(stores.length),
          note: failedCount === 0 ? 'all readable' : `${failedCount} unreadable`,
        },
        { term: 'Served', value: servedStore?.name ?? MISSING_TEXT, note: servedStore?.kind ?? 'none' },
        {
          term: 'Securities',
          value: servedStore?.identifiers == null ? MISSING_TEXT : formatCount(servedStore.identifiers),
        },
        {
          term: 'Last session',
          value: servedStore?.end ?? MISSING_TEXT,
          ...createEndNote(lag, servedStore?.end ?? null),
        },
        warnings,
        { term: 'Size', value: formatBytes(size), note: 'of all stores' },
      ]}
    />
  );
}

/** Renders the prices of the served store through time, and its latest versions. */
function Served({ store }: { readonly store: DataStore | undefined }) {
  if (store === undefined) return null;
  return (
    <div class="pile gap-5 served-data">
      <CoverageChart store={store} height={190} />
      <LatestVersions store={store} />
    </div>
  );
}

/** Renders links to questions about the served store. */
function Next({ served }: { readonly served: DataStore | undefined }) {
  if (served === undefined) return null;
  const address = storeAddress(served.store_id);
  return (
    <Section title={`Examine ${served.name}`}>
      <LinkCards
        label={`Examine ${served.name}`}
        cards={[
          {
            icon: 'search',
            title: 'Securities',
            text: 'Sector, last close and history of each security.',
            address: '/console/names',
          },
          {
            icon: 'indices',
            title: 'Coverage',
            text: 'Securities with a price through time, and the fields for rules.',
            address: `${address}?tab=coverage`,
          },
          {
            icon: 'health',
            title: 'Warnings',
            text: 'Unexplained jumps, missing splits and repeated bars, with repairs.',
            address: `${address}?tab=doubts`,
          },
          {
            icon: 'jobs',
            title: 'Versions',
            text: 'Values that later reads changed, and why.',
            address: `${address}?tab=versions`,
          },
          {
            icon: 'spark',
            title: 'Corporate actions',
            text: 'Coming and flagged actions, with their effect on indices.',
            address: '/console/actions',
          },
          {
            icon: 'data',
            title: 'SQL',
            text: 'Queries over runs, prices and reference data.',
            address: '/console/data/sql',
          },
        ]}
      />
    </Section>
  );
}
