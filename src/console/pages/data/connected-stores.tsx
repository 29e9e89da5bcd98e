import type { DataStore } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { useStores } from '../../state/stores.js';
import { storeAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatCount } from '../../words/numbers.js';
import { StoreState } from './store-state.js';

/** Renders the stores that read a folder or database, with their locations and last dates. */
export function ConnectedStores() {
  const stores = useStores();
  const rows = (stores.data?.stores ?? []).filter(({ kind }) => kind === 'folder' || kind === 'database');
  if (rows.length === 0) return null;
  return (
    <Section title="Connected stores" aside="a location is read again by a refresh">
      <Table
        label="connected stores"
        columns={COLUMNS}
        rows={rows}
        getKey={({ store_id: id }) => id}
        formatAddress={({ store_id: id }) => storeAddress(id)}
        height={300}
      />
    </Section>
  );
}

const COLUMNS: readonly Column<DataStore>[] = [
  {
    id: 'name',
    title: 'Store',
    width: 140,
    grow: 1,
    value: ({ name }) => name,
    show: ({ name }) => <strong>{name}</strong>,
  },
  { id: 'kind', title: 'Kind', width: 84, priority: 4, value: ({ kind }) => kind },
  {
    id: 'location',
    title: 'Location',
    width: 180,
    grow: 3,
    priority: 3,
    value: ({ location, source }) => source ?? location,
    show: ({ location, source }) => <code title={source ?? location ?? ''}>{source ?? location}</code>,
  },
  createNumericColumn({
    id: 'names',
    title: 'Securities',
    width: 84,
    priority: 2,
    of: ({ identifiers }) => identifiers,
    write: formatCount,
  }),
  { id: 'end', title: 'To', width: 100, value: ({ end }) => end },
  {
    id: 'read',
    title: 'Read',
    width: 172,
    priority: 4,
    value: (store) => store.last_loaded_at,
    show: (store) => formatMoment(store.last_loaded_at),
  },
  {
    id: 'state',
    title: 'State',
    width: 110,
    priority: 2,
    value: ({ status }) => status,
    show: (store) => <StoreState store={store} />,
  },
];
