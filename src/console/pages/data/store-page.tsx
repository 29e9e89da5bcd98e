import type { DataStore } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Badge } from '../../components/badge.js';
import { Banner } from '../../components/banner.js';
import { Button } from '../../components/button.js';
import { Confirm } from '../../components/confirm.js';
import { JobState } from '../../components/job-state.js';
import { Page } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { findOpenTab, Tabs, type Tab } from '../../components/tabs.js';
import { Answered } from '../../components/wait.js';
import type { PageProps } from '../../state/page-props.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatFirstNames } from '../../words/first-names.js';
import { countValues } from '../../words/numbers.js';
import { NameTable } from '../names/name-table.js';
import { Coverage } from './coverage.js';
import { DataVersions } from './data-versions.js';
import { DataWarnings } from './data-warnings.js';
import { Overrides } from './overrides.js';
import { activateStore } from '../../state/actions.js';
import { deleteStore, refreshStore } from './store-acts.js';
import { StoreOverview } from './store-overview.js';
import { storeJob } from './store-state.js';
import { useStoreUsers } from './store-users.js';
import './data.css';
import { STORE_PARTS } from '../../words/parts.js';

const TABS: readonly Tab[] = STORE_PARTS;

/** Renders the page of a store. */
export function StorePage({ params }: PageProps) {
  const id = params['id']!; // the address contains the id
  const store = useResource(`store ${id}`, (signal) =>
    service.value.call('getStore', { params: { store_id: id }, signal }),
  );
  const { data, trouble, reload } = store;
  if (data === undefined && trouble !== null)
    return (
      <Page title={id} above={[{ address: '/console/data', text: 'Data' }]}>
        <Problem trouble={trouble} onRetry={reload} />
      </Page>
    );
  return (
    <Answered resource={store} what={`the store ${id}`}>
      {(one) => <StoreContent store={one} />}
    </Answered>
  );
}

function StoreContent({ store }: { readonly store: DataStore }) {
  const { store_id: id, name, active: isServed, error } = store;
  const job = storeJob(id);
  const tab = findOpenTab(TABS);
  return (
    <Page
      title={name}
      above={[{ address: '/console/data', text: 'Data' }]}
      subtitle={
        <>
          <code>{id}</code>
          <Badge>{store.kind}</Badge>
          {isServed && <Badge kind="good">served</Badge>}
        </>
      }
      actions={may('data') && job === undefined && <Actions store={store} />}
    >
      {job !== undefined && <JobState job={job} />}
      {error !== null && (
        <Banner kind="bad" title={error.message}>
          <code>{error.code}</code>
        </Banner>
      )}
      <Tabs label={`Parts of ${name}`} tabs={TABS} />
      <Part store={store} tab={tab} />
    </Page>
  );
}

function Part({ store, tab }: { readonly store: DataStore; readonly tab: string }) {
  switch (tab) {
    case 'doubts':
      return <DataWarnings store={store} />;
    case 'coverage':
      return <Coverage store={store} />;
    case 'names':
      return store.active ? <NameTable /> : <NameTable store={store.store_id} />;
    case 'overrides':
      return <Overrides store={store} />;
    case 'versions':
      return <DataVersions store={store} />;
    default:
      return <StoreOverview store={store} />;
  }
}

/** Maximum number of indices that are named before a store is deleted. */
const NAMED_MAX = 10;

/** Renders the indices that are computed on a store, and the strategies that follow them. They cannot run without it. */
function AssignedIndices({ store }: { readonly store: string }) {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const strategies = useResource('strategies', (signal) => service.value.call('listStrategies', { signal }));
  const ids = (indices.data?.indices ?? []).filter(({ store_id: of }) => of === store).map(({ id }) => id);
  const strategyIds = (strategies.data?.strategies ?? [])
    .filter(({ strategy }) => ids.includes(strategy.index_id))
    .map(({ strategy }) => strategy.id);
  if (ids.length === 0) return null;
  const counts = [
    countValues(ids.length, 'index', 'indices'),
    ...(strategyIds.length === 0 ? [] : [countValues(strategyIds.length, 'strategy', 'strategies')]),
  ];
  return (
    <p>
      {counts.join(' and ')} cannot run without it: {formatFirstNames([...ids, ...strategyIds], NAMED_MAX)}.
    </p>
  );
}

function Actions({ store }: { readonly store: DataStore }) {
  const { store_id: id, active: isServed, refreshable, managed, name } = store;
  const [isAsking, setAsking] = useState(false);
  const users = useStoreUsers()(store);
  return (
    <>
      {!isServed && (
        <Button kind={users === 0 ? 'danger' : 'plain'} onClick={() => setAsking(true)}>
          Delete
        </Button>
      )}
      {refreshable && (
        <>
          <ActionButton
            act={(onRefusal) => refreshStore(id, true, onRefusal)}
            title="Reads all values of the source again, adds later dates and reports restated values"
          >
            Refresh all values
          </ActionButton>
          <ActionButton
            kind={isServed ? 'main' : 'plain'}
            act={(onRefusal) => refreshStore(id, false, onRefusal)}
            title="Adds dates after the last session. Stored values change only for a new split."
          >
            Add later dates
          </ActionButton>
        </>
      )}
      {!isServed && (
        <ActionButton kind="main" act={(onRefusal) => activateStore(id, onRefusal)}>
          Serve
        </ActionButton>
      )}
      {isAsking && (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete"
          onConfirm={() => void deleteStore(id)}
          onClose={() => setAsking(false)}
        >
          <p>
            {managed
              ? 'This also deletes its files. Stored runs keep only the hash of their data.'
              : 'This removes the store from the service. The data stays in its place.'}
          </p>
          <AssignedIndices store={id} />
        </Confirm>
      )}
    </>
  );
}
