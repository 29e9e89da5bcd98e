import type { DataStore } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Button, LinkButton } from '../../components/button.js';
import { Icon } from '../../components/icon.js';
import { LinkCards } from '../../components/link-cards.js';
import { Metrics } from '../../components/metrics.js';
import { Page, Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { health } from '../../state/live.js';
import { may } from '../../state/principal.js';
import { useStores } from '../../state/stores.js';
import { storeAddress } from '../../words/addresses.js';
import { createEndNote, findLag } from '../../words/freshness.js';
import { formatBytes, formatCount, countValues, MISSING_TEXT } from '../../words/numbers.js';
import { FirstSteps } from '../home/first-steps.js';
import { GenerateDialog } from './generate-dialog.js';
import { MARKET_WORDS } from './generate-market.js';
import { CoverageChart } from './coverage.js';
import { LatestVersions } from './latest-versions.js';
import { createColumns } from './store-columns.js';
import { useStoreUsers } from './store-users.js';
import { useWarningMetric } from './use-audit.js';
import './data.css';

/** Renders the page of all stores of market data, with the ways to add a store. */
export function DataPage() {
  const [isAsking, setAsking] = useState(false);
  const stores = useStores();
  return (
    <Page
      title="Data"
      subtitle="An index uses the store that it names, otherwise the served store."
      actions={
        <>
          <LinkButton href="/console/names">Securities</LinkButton>
          <LinkButton href="/console/watchlists">Watchlists</LinkButton>
          {may('data') && (
            <>
              {stores.data !== undefined && stores.data.active !== null && (
                <Button
                  title={`${MARKET_WORDS} It is not served until you choose Serve.`}
                  onClick={() => setAsking(true)}
                >
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
            {all.length > 0 && <Figures stores={all} />}
            {all.length > 0 && <Stores stores={all} />}
            <Served store={all.find((store) => store.active)} />
            {active !== null && <Next served={all.find((store) => store.active)} />}
            {skipped > 0 && <p class="quiet">{countValues(skipped, 'store document')} cannot be read.</p>}
          </>
        )}
      </Answered>
    </Page>
  );
}

/** Renders figures of all stores; figures of prices are those of the served store. */
function Figures({ stores }: { readonly stores: readonly DataStore[] }) {
  const servedStore = stores.find((store) => store.active);
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

function Stores({ stores }: { readonly stores: readonly DataStore[] }) {
  const countUsers = useStoreUsers();
  return (
    <Section title="Stores">
      <Table
        label="stores"
        name="stores"
        columns={createColumns(countUsers)}
        rows={stores.toSorted(compareStores)}
        getKey={({ store_id: id }) => id}
        formatAddress={({ store_id: id }) => storeAddress(id)}
      />
    </Section>
  );
}

/** Sorts stores by name, the served store first. */
const compareStores = (a: DataStore, b: DataStore): number =>
  Number(b.active) - Number(a.active) || a.name.localeCompare(b.name);

/** Renders the prices of the served store through time, and its latest versions. */
function Served({ store }: { readonly store: DataStore | undefined }) {
  if (store === undefined) return null;
  return (
    <div class="served-data">
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
