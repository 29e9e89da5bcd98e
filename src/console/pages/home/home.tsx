import { Icon } from '../../components/icon.js';
import { LinkButton } from '../../components/button.js';
import { Page } from '../../components/page.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { Answered } from '../../components/wait.js';
import { health } from '../../state/live.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { useStores } from '../../state/stores.js';
import { Banner } from '../../components/banner.js';
import { createLazyComponent } from '../../components/lazy.js';
import { Coming } from '../calendar/coming.js';
import { IndexTable } from './index-table.js';
import { LatestJobs } from './latest-jobs.js';
import { Strategies } from './strategies.js';
import { RunningJobs } from './running-jobs.js';
import { ServedStore } from './served-store.js';
import './home.css';

/** Shown only without data stores, so the first page of a service in use does not load it. */
const FirstSteps = createLazyComponent('the first steps', async () => (await import('./first-steps.js')).FirstSteps);

/** Returns true after a start of the service while it is loading the previously served store. */
const isBeingRead = (): boolean => health.value?.store.active === null && health.value.store.status === 'loading';

const BeingRead = () => (
  <>
    <Banner kind="info" title="The data store is being loaded after the restart." />
    <FiguresSkeleton />
  </>
);

/** Overview page: the served store, running jobs, and all indices with their states. */
export function Home() {
  const stores = useStores();
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const hasIndices = (indices.data?.indices.length ?? 0) > 0;
  return (
    <Page
      title="Indices"
      actions={
        may('write') && (
          <>
            <LinkButton href="/console/plugins">Plug-ins</LinkButton>
            <LinkButton href="/console/indices/templates">Templates</LinkButton>
            <LinkButton kind={hasIndices ? 'main' : 'plain'} href="/console/indices/new">
              <Icon name="plus" /> New index
            </LinkButton>
          </>
        )
      }
    >
      <Answered resource={stores} what="the data stores">
        {({ stores: all, active }) => {
          const servedStore = all.find(({ store_id: id }) => id === active);
          if (servedStore !== undefined) return <ServedStore store={servedStore} />;
          return isBeingRead() ? <BeingRead /> : <FirstSteps stores={all} />;
        }}
      </Answered>
      <RunningJobs />
      <Answered resource={indices} what="the indices">
        {({ indices: all, skipped }) => (
          <IndexTable
            indices={all}
            skipped={skipped}
            hasData={stores.data?.active != null && indices.trouble === null}
          />
        )}
      </Answered>
      <Strategies />
      {hasIndices && (
        <div class="home-more">
          <Coming />
          <LatestJobs />
        </div>
      )}
    </Page>
  );
}
