import type { IndexDocument, OverviewView, StoredStrategy } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { LinkButton } from '../../components/button.js';
import { Banner } from '../../components/banner.js';
import { Findings } from '../../components/findings.js';
import { createLazyComponent } from '../../components/lazy.js';
import { listVersions, type VersionedFamily } from '../../components/versions/families.js';
import { Page } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { findOpenTab, Tabs, type Tab } from '../../components/tabs.js';
import { Answered, Wait } from '../../components/wait.js';
import { useIndexStore } from '../../state/index-store.js';
import { isOtherStore } from '../../state/live.js';
import type { PageProps } from '../../state/page-props.js';
import { NamesStore } from '../../state/names.js';
import { useResource } from '../../state/resource.js';
import { formatDefinitionKey, readDefinition, formatOverviewKey, readOverview } from '../../state/run-questions.js';
import { service } from '../../state/service.js';
import { readShownRun } from '../../state/shown-run.js';
import { formatIndexAddress, storeAddress, formatStrategyAddress } from '../../words/addresses.js';
import { listNearest } from '../../words/findings.js';
import { INDEX_PARTS } from '../../words/parts.js';
import { IndexActions, RunActions, RunState } from './index-actions.js';
import { Methodology, Terms } from './methodology.js';
import { OtherRun } from './other-run.js';
import { Performance } from './performance.js';
import type { NeverRunProps } from './never-run.js';
import { RunSettings } from './run-settings.js';
import { Stale } from './stale.js';
import { WholeRun } from './whole-run.js';
import './index-page.css';

const Versions = createLazyComponent<VersionedFamily>(
  'the versions',
  async () => (await import('../../components/versions/versions.js')).Versions,
);

interface RunPartProps {
  readonly id: string;
  readonly run: OverviewView;
}

const Attribution = createLazyComponent<RunPartProps>(
  'the attribution',
  async () => (await import('./attribution.js')).Attribution,
);
const Constituents = createLazyComponent<RunPartProps>(
  'the constituents',
  async () => (await import('./constituents.js')).Constituents,
);
const Limits = createLazyComponent<RunPartProps>('the limits', async () => (await import('./limits.js')).Limits);
const Rebalances = createLazyComponent<RunPartProps>(
  'the rebalances',
  async () => (await import('./rebalances.js')).Rebalances,
);
const Scenarios = createLazyComponent<RunPartProps>(
  'the scenarios',
  async () => (await import('./scenarios.js')).Scenarios,
);
const Weights = createLazyComponent<RunPartProps>('the weights', async () => (await import('./weights.js')).Weights);
const Risk = createLazyComponent<RunPartProps>('the risk', async () => (await import('./risk.js')).Risk);

const NeverRun = createLazyComponent<NeverRunProps>(
  'the definition',
  async () => (await import('./never-run.js')).NeverRun,
);

const Publication = createLazyComponent<RunPartProps>(
  'the publication',
  async () => (await import('./publication/publication.js')).Publication,
);

const Runs = createLazyComponent<{ readonly id: string }>('the runs', async () => (await import('./runs.js')).Runs);

const CorporateActions = createLazyComponent<RunPartProps>(
  'the corporate actions',
  async () => (await import('./actions.js')).Actions,
);

const TABS: readonly Tab[] = INDEX_PARTS;

/** Page of one index or strategy. Both have the same addresses, runs and views. */
export function IndexPage({ params }: PageProps) {
  const id = params['id']!; // the route has this parameter
  const definition = useResource(formatDefinitionKey(id), (signal) => readDefinition(id, signal));
  const { data, trouble, reload } = definition;
  if (data === undefined && trouble !== null)
    return (
      <Page
        title={id}
        above={[{ address: '/', text: 'Indices' }]}
        actions={
          <>
            <LinkButton href="/">All indices</LinkButton>
            <LinkButton href="/console/indices/new">New index</LinkButton>
          </>
        }
      >
        <Problem trouble={trouble} onRetry={reload} />
        {trouble.code === 'INDEX_NOT_FOUND' && (
          <>
            <SimilarIds id={id} />
            <DeletedIndexPage id={id} />
          </>
        )}
      </Page>
    );
  return (
    <Answered resource={definition} what={`the index ${id}`}>
      {({ index, strategy }) =>
        index === null ? <StrategyContent stored={strategy} /> : <IndexContent index={index} />
      }
    </Answered>
  );
}

/** Maximum number of stored ids that are listed if none is similar. */
const STORED_MAX = 8;

/** Renders links to stored indices and strategies whose ids are similar to an unknown id; if none is, to the first. */
function SimilarIds({ id }: { readonly id: string }) {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const strategies = useResource('strategies', (signal) => service.value.call('listStrategies', { signal }));
  const ids = [
    ...(indices.data?.indices ?? []).map((index) => index.id),
    ...(strategies.data?.strategies ?? []).map(({ strategy }) => strategy.id),
  ];
  const nearestIds = listNearest(id, ids);
  const shownIds = nearestIds.length > 0 ? nearestIds : ids.slice(0, STORED_MAX);
  if (shownIds.length === 0) return null;
  return (
    <p>
      {nearestIds.length > 0 ? 'Similar ids: ' : 'Stored ids: '}
      {shownIds.map((name, k) => (
        <>
          {k > 0 && ', '}
          <a href={formatIndexAddress(name)}>{name}</a>
        </>
      ))}
    </p>
  );
}

/** Renders the versions of a deleted index. Each version can be restored. */
function DeletedIndexPage({ id }: { readonly id: string }) {
  const list = useResource(`versions index ${id}`, (signal) => listVersions({ kind: 'index', id }, signal));
  return list.data === undefined ? null : <Versions kind="index" id={id} />;
}

function StrategyContent({ stored }: { readonly stored: StoredStrategy }) {
  const { strategy, problems } = stored;
  const { id, name, index_id: followed, description } = strategy;
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const isKnown = indices.data !== undefined || indices.trouble !== null;
  const store = isKnown ? (indices.data?.indices.find((index) => index.id === followed)?.store_id ?? null) : undefined;
  const tab = findOpenTab(TABS);
  return (
    <Page
      title={id}
      above={[{ address: '/', text: 'Indices' }]}
      subtitle={
        <>
          <span>{name}</span>
          <Badge>strategy</Badge>
          <span>
            follows <a href={formatIndexAddress(followed)}>{followed}</a>
          </span>
          <OtherStore store={store} />
          <Description text={description} />
        </>
      }
      actions={<RunActions {...{ id, store }} isStrategy edit={formatStrategyAddress(id)} />}
    >
      {problems.length > 0 && (
        <Banner kind="bad" title="A referenced document is missing">
          <Findings findings={problems} />
        </Banner>
      )}
      <RunState {...{ id, store }} isStrategy />
      <RunSettings {...{ id, store }} isStrategy />
      <Tabs label={`Parts of ${id}`} tabs={TABS} />
      {tab === 'versions' ? (
        <Versions kind="strategy" id={id} />
      ) : tab === 'methodology' ? (
        <Terms strategy={strategy} />
      ) : (
        <RunParts id={id} tab={tab} tracked={followed} underlying={null} store={store} />
      )}
    </Page>
  );
}

function IndexContent({ index }: { readonly index: IndexDocument }) {
  const { id, name, currency, calendar, description, derivation, overlay, source_index_id: beneath } = index;
  const store = useIndexStore(index);
  const tab = findOpenTab(TABS);
  return (
    <Page
      title={id}
      above={[{ address: '/', text: 'Indices' }]}
      subtitle={
        <>
          <span>{name}</span>
          <Badge>{currency}</Badge>
          <Badge>{calendar}</Badge>
          <OtherStore store={store} />
          {overlay !== undefined && <Badge>overlay: {overlay.type.replaceAll('_', ' ')}</Badge>}
          {beneath !== undefined && (
            <span>
              on <a href={formatIndexAddress(beneath)}>{beneath}</a>
            </span>
          )}
          {derivation !== null && (
            <span>
              optimised from <a href={formatIndexAddress(derivation.source_index_id)}>{derivation.source_index_id}</a>
            </span>
          )}
          <Description text={description} />
        </>
      }
      actions={<IndexActions {...{ id, store }} isOverlay={overlay !== undefined} />}
    >
      <RunState {...{ id, store }} />
      <RunSettings {...{ id, store }} isStrategy={false} />
      <Tabs label={`Parts of ${id}`} tabs={TABS} />
      {tab === 'versions' ? (
        <Versions kind="index" id={id} />
      ) : tab === 'methodology' ? (
        <Methodology index={index} />
      ) : (
        <RunParts {...{ id, tab, overlay }} tracked={id} underlying={beneath ?? null} store={store} />
      )}
    </Page>
  );
}

/** Renders the data store of an index, unless it is the served one. */
function OtherStore({ store }: { readonly store: string | null | undefined }) {
  if (!isOtherStore(store)) return null;
  return (
    <span>
      on the data store <a href={storeAddress(store)}>{store}</a>
    </span>
  );
}

/** Maximum number of characters of a description at the top of the page. */
const DESCRIPTION_MAX = 240;

/** Renders the description of an index. A long text is folded. */
function Description({ text }: { readonly text: string | null }) {
  if (text === null) return null;
  if (text.length <= DESCRIPTION_MAX) return <span class="index-description">{text}</span>;
  return (
    <details class="index-description">
      <summary>{text.slice(0, DESCRIPTION_MAX)} …</summary>
      {text}
    </details>
  );
}

interface RunPartsProps {
  readonly id: string;
  readonly tab: string;
  /** Index that the run follows. For a strategy, this is the index of the strategy. */
  readonly tracked: string;
  /** Index below an overlay; null without an overlay. */
  readonly underlying: string | null;
  readonly overlay?: IndexDocument['overlay'];
  /** Data store of the index; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
}

function RunParts({ id, tab, tracked, underlying, overlay, store }: RunPartsProps) {
  const overview = useResource(formatOverviewKey(id), (signal) => readOverview(id, signal));
  const isOther = readShownRun().run_id !== undefined;
  if (overview.data === undefined && overview.trouble?.code === 'RUN_NOT_FOUND')
    return isOther ? (
      <OtherRun id={id} trouble={overview.trouble} />
    ) : store === undefined ? (
      <Wait what="the data store of the index" />
    ) : (
      <NamesStore.Provider value={store}>
        <NeverRun id={id} tracked={tracked} />
      </NamesStore.Provider>
    );
  return (
    <Answered resource={overview} what="the run">
      {(run) => (
        <NamesStore.Provider value={run.store_id}>
          {isOther ? (
            <OtherRun id={id} trouble={null} />
          ) : (
            run.stale !== null &&
            store !== undefined && (
              <Stale
                {...{ id, store }}
                version={id === tracked ? (run.index_version ?? null) : null}
                stale={run.stale}
                isStrategy={id !== tracked}
              />
            )
          )}
          <WholeRun tab={tab} run={run} />
          <Part {...{ tab, id, run, tracked, underlying, overlay }} />
        </NamesStore.Provider>
      )}
    </Answered>
  );
}

interface PartProps extends Omit<RunPartsProps, 'store'> {
  readonly run: OverviewView;
}

function Part({ tab, id, run, tracked, underlying, overlay }: PartProps) {
  switch (tab) {
    case 'constituents':
      return <Constituents id={id} run={run} />;
    case 'weights':
      return <Weights id={id} run={run} />;
    case 'attribution':
      return <Attribution id={id} run={run} />;
    case 'risk':
      return <Risk id={id} run={run} />;
    case 'limits':
      return <Limits id={id} run={run} />;
    case 'scenarios':
      return <Scenarios id={id} run={run} />;
    case 'rebalances':
      return <Rebalances id={id} run={run} />;
    case 'actions':
      return <CorporateActions id={id} run={run} />;
    case 'runs':
      return <Runs id={id} />;
    case 'publication':
      return <Publication id={id} run={run} />;
    default:
      return <Performance {...{ id, run, tracked, underlying, overlay }} />;
  }
}
