import type { DataStore } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { activateStore } from '../../state/actions.js';
import { may } from '../../state/principal.js';
import { storeAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatBytes, formatCount } from '../../words/numbers.js';
import { StoreState } from './store-state.js';

const NAME_COLUMN: Column<DataStore> = {
  id: 'store',
  title: 'Store',
  width: 264,
  grow: 3,
  value: (store) => store.name,
  show: (store) => (
    <span class="store-name">
      <a href={storeAddress(store.store_id)} tabIndex={-1}>
        {store.name}
      </a>
      {store.active && <Badge kind="good">served</Badge>}
      <span class="quiet">{store.store_id}</span>
    </span>
  ),
};

/** @param usersOf returns the number of indices that use a store */
export const createColumns = (usersOf: (store: DataStore) => number | null): readonly Column<DataStore>[] => [
  NAME_COLUMN,
  { id: 'kind', title: 'Kind', width: 92, priority: 6, value: ({ kind }) => kind },
  createNumericColumn({
    id: 'names',
    title: 'Securities',
    width: 76,
    priority: 3,
    of: ({ identifiers }) => identifiers,
    write: formatCount,
  }),
  createNumericColumn({
    id: 'indices',
    title: 'Indices',
    help: 'Indices that are computed on the store',
    width: 72,
    priority: 6,
    of: usersOf,
    write: formatCount,
  }),
  { id: 'start', title: 'From', width: 96, priority: 5, value: ({ start }) => start },
  { id: 'end', title: 'To', width: 96, priority: 2, value: ({ end }) => end },
  createNumericColumn({
    id: 'size',
    title: 'Size',
    help: 'On disk',
    width: 84,
    priority: 8,
    of: (store) => store.size_bytes,
    write: formatBytes,
  }),
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
