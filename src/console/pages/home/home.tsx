import { Icon } from '../../components/icon.js';
import { LinkButton } from '../../components/button.js';
import { Page } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { FirstSteps } from './first-steps.js';
import { IndexTable } from './index-table.js';
import { Strategies } from './strategies.js';
import { RunningJobs } from './running-jobs.js';
import { ServedStore } from './served-store.js';
import './home.css';

/** Everything at a glance: the market served, what runs, and every index with its state. */
export function Home() {
  const stores = useResource('stores', (signal) => service.value.call('listStores', { signal }));
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const hasIndices = (indices.data?.indices.length ?? 0) > 0;
  return (
    <Page
      title="Indices"
      actions={
        may('write') && (
          <LinkButton kind={hasIndices ? 'main' : 'plain'} href="/console/indices/new">
            <Icon name="plus" /> New index
          </LinkButton>
        )
      }
    >
      <Answered resource={stores} what="the data stores">
        {({ stores: all, active }) => {
          const served = all.find(({ store_id: id }) => id === active);
          return served === undefined ? <FirstSteps stores={all} /> : <ServedStore store={served} />;
        }}
      </Answered>
      <RunningJobs />
      <Answered resource={indices} what="the indices">
        {({ indices: all, skipped }) => (
          <IndexTable indices={all} skipped={skipped} hasData={stores.data?.active != null} />
        )}
      </Answered>
      <Strategies />
    </Page>
  );
}
