import './index-page.css';
import type {
  IndexDocument,
  IndexDocumentBody,
  OverviewView,
  StaleState,
  StoredStrategy,
  Methodology as View,
} from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { LinkButton, Button } from '../../components/controls/button.js';
import { findChosenRange } from '../../components/controls/range.js';
import { Answered, Badge, Banner, createLazyComponent, Findings, Problem, Wait } from '../../components/feedback.js';
import { useSchemas } from '../../components/form/schema-form.js';
import { Page, Section } from '../../components/layout/page.js';
import { findOpenTab, Tabs } from '../../components/layout/tabs.js';
import { usePhone } from '../../components/layout/viewport.js';
import type { ChangedFieldsProps } from '../../components/versions/changed-fields.js';
import { listVersions, type VersionedFamily } from '../../components/versions/history.js';
import { activateStore, tryAction, formatRunSubject, type OnRefusal } from '../../state/actions.js';
import { isOtherStore } from '../../state/live.js';
import { addQuery, formatAddress, type PageProps, getParameter } from '../../state/location.js';
import { NamesStore, useIndexStore, useExchanges, useFields } from '../../state/market.js';
import {
  formatDefinitionKey,
  formatOverviewKey,
  readDefinition,
  readOverview,
  readShownRun,
} from '../../state/runs.js';
import { may, notifyChange, service, type Trouble, useAnswer, useList, useResource } from '../../state/service.js';
import { isUnregistered, useStores } from '../../state/stores.js';
import { showToast } from '../../state/toasts.js';
import {
  formatIndexAddress,
  formatStrategyAddress,
  storeAddress,
  formatGovernanceAddress,
} from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { listNearest } from '../../words/findings.js';
import type { Json } from '../../words/paths.js';
import type { NeverRunProps } from './never-run.js';
import { Performance } from './performance.js';
import { RUN_TABS } from './run-tabs.js';
import {
  formatTerms,
  hasOpenTerms,
  IndexActions,
  RunActions,
  runAgain,
  RunSettings,
  RunState,
  readNewestRun,
} from './run-settings.js';
import { useState } from 'preact/hooks';
import { JsonDocument } from '../../components/layout/facts.js';
import { createPlainSentence, SECTION_TITLES } from '../../words/methodology.js';

interface OtherRunProps {
  readonly id: string;
  /** Error because of which the run cannot be shown; null if there is none. */
  readonly trouble: Trouble | null;
}

/** Renders a note if the page shows a run that is not the latest. */
function OtherRun({ id, trouble }: OtherRunProps) {
  const list = useAnswer('listRuns', { params: { index_id: id } });
  const schemas = useSchemas();
  const { run_id: shown = null } = readShownRun();
  const run = list.data?.runs.find(({ run_id: one }) => one === shown);
  const newest = <LinkButton href={addQuery({ run_id: null })}>Show the newest</LinkButton>;
  if (trouble !== null) return <Banner kind="bad" title={trouble.message} action={newest} />;
  if (run === undefined) return null;
  return (
    <Banner kind="info" title={`The run of ${formatMoment(run.run_at)} is shown, not the newest.`} action={newest}>
      <p>
        {formatTerms(run.request as Json, 'BacktestRequest', schemas.data)}
        {run.index_version !== null && ` · version ${run.index_version} of the definition`} ·{' '}
        <a href={addQuery({ tab: 'runs', run_id: null, run_from: shown, run_to: list.data?.runs[0]?.run_id ?? null })}>
          compare with the newest
        </a>
      </p>
    </Banner>
  );
}

const ChangedFields = createLazyComponent<ChangedFieldsProps>(
  'changed fields',
  async () => (await import('../../components/versions/changed-fields.js')).ChangedFields,
);

interface StaleProps {
  readonly id: string;
  /** Version of the definition that the run used; null for a strategy, or if unknown. */
  readonly version: number | null;
  readonly stale: StaleState;
  /** Data store of the index; null for the served store. */
  readonly store: string | null;
  readonly isStrategy: boolean;
}

/** Renders why the run on this page is stale. Buttons make it current or replace it. */
function Stale({ id, version, stale, store, isStrategy }: StaleProps) {
  // If an index names no store, its run becomes current again when the store of the run is served.
  const storeId = store === null ? stale.store_id : null;
  const stores = useStores();
  const canServe = storeId !== null && stores.data !== undefined && !isUnregistered(stores.data.stores, storeId);
  const isPhone = usePhone();
  const why = (
    <>
      <Reasons {...{ id, version }} reasons={stale.reasons} />
      <StoreNote {...{ id, store, storeId, isStrategy }} />
    </>
  );
  // On a phone, several reasons are folded. The data then starts on the first screen.
  const isFolded = isPhone && (stale.reasons.length > 1 || storeId !== null);
  return (
    <Banner
      kind="warning"
      title={
        isFolded ? (
          <details class="stale">
            <summary>This run is out of date</summary>
            {why}
          </details>
        ) : (
          'This run is out of date'
        )
      }
      action={
        <>
          {canServe && may('data') && (
            <ActionButton kind="main" act={(onRefusal) => activateStore(storeId, onRefusal)}>
              Serve {storeId}
            </ActionButton>
          )}
          {canServe && !isStrategy && may('write') && (
            <ActionButton act={(onRefusal) => assignStore(id, storeId, onRefusal)}>
              Assign {id} to {storeId}
            </ActionButton>
          )}
          {!hasOpenTerms.value && may('run') && !isUnregistered(stores.data?.stores, store) && (
            <ActionButton
              kind={canServe ? 'plain' : 'main'}
              about={formatRunSubject(id)}
              act={(onRefusal) => runAgain(id, onRefusal)}
            >
              Run again
            </ActionButton>
          )}
        </>
      }
    >
      {!isFolded && why}
    </Banner>
  );
}

interface StoreNoteProps extends Pick<StaleProps, 'id' | 'store' | 'isStrategy'> {
  /** Data store of the run if the index names none; null if the run was on the store of the index. */
  readonly storeId: string | null;
}

/** Renders how the run becomes current if its data store is not served or not registered. */
function StoreNote({ id, store, storeId, isStrategy }: StoreNoteProps) {
  const stores = useStores().data?.stores;
  const link = <a href="/console/data">Data</a>;
  if (isUnregistered(stores, store))
    return (
      <p>
        Register the data store {store} on the page {link}, or assign {isStrategy ? 'the index' : id} to another data
        store.
      </p>
    );
  if (isUnregistered(stores, storeId))
    return (
      <p>
        The data store {storeId} is no longer registered. Register it on the page {link}, or run again on the served
        store.
      </p>
    );
  if (storeId === null) return null;
  return (
    <p>
      {isStrategy ? 'Its index' : id} is assigned to no data store and is therefore computed on the served one: serve{' '}
      {storeId}, {isStrategy ? 'assign the index to it' : `assign ${id} to it`}, or run again on the served store.
    </p>
  );
}

interface ReasonsProps extends Pick<StaleProps, 'id' | 'version'> {
  readonly reasons: readonly string[];
}

const Reasons = ({ reasons, ...terms }: ReasonsProps) => (
  <ul>
    {reasons.map((reason) => (
      <li key={reason}>
        <Reason {...{ ...terms, reason }} />
      </li>
    ))}
  </ul>
);

/** Renders a reason. If the definition of the index changed, renders the changed fields. */
function Reason({ id, version, reason }: Pick<StaleProps, 'id' | 'version'> & { readonly reason: string }) {
  if (version === null || !isOwnChange(reason, id)) return <>{reason}</>;
  return (
    <ChangedFields
      kind="index"
      id={id}
      since={version}
      formatAddress={(from, to) =>
        formatAddress(formatIndexAddress(id), { tab: 'versions', version: String(to), against: String(from) })
      }
      otherwise={reason}
    />
  );
}

/** Returns true if a reason states that the definition of the index itself changed. */
const isOwnChange = (reason: string, id: string): boolean =>
  reason.startsWith(`The index ${id} changed since this run`);

/** Assigns an index to a data store. The levels do not change. */
const assignStore = (id: string, store: string, onRefusal: OnRefusal) =>
  tryAction(async () => {
    const params = { index_id: id };
    const { answer, etag } = await service.value.callWithEtag('getIndex', { params });
    const body = { ...answer, store_id: store } as unknown as IndexDocumentBody; // the service ignores derived members
    await service.value.call('putIndex', { params, body, ifMatch: etag ?? undefined });
    showToast('good', `${id} is computed on ${store}.`);
    notifyChange();
  }, onRefusal);

interface WholeRunProps {
  readonly tab: string;
  readonly run: OverviewView;
}

/** Renders a note if the open tab ignores the selected date range. */
function WholeRun({ tab, run: { start, end } }: WholeRunProps) {
  const range = findChosenRange();
  if (range === null || RUN_TABS.find(({ id }) => id === tab)?.isRanged === true) return null;
  return (
    <p class="quiet">
      The range {range.from} to {range.to} does not apply here: this part covers the whole run, {start} to {end}.
    </p>
  );
}

const Versions = createLazyComponent<VersionedFamily>(
  'the versions',
  async () => (await import('../../components/versions/versions.js')).Versions,
);

const NeverRun = createLazyComponent<NeverRunProps>(
  'the definition',
  async () => (await import('./never-run.js')).NeverRun,
);

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
  const indices = useList('indices');
  const strategies = useList('strategies');
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
  const indices = useList('indices');
  const isKnown = indices.data !== undefined || indices.trouble !== null;
  const store = isKnown ? (indices.data?.indices.find((index) => index.id === followed)?.store_id ?? null) : undefined;
  const tab = findOpenTab(RUN_TABS);
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
      <Tabs label={`Parts of ${id}`} tabs={RUN_TABS} />
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
  const tab = findOpenTab(RUN_TABS);
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
      <Tabs label={`Parts of ${id}`} tabs={RUN_TABS} />
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
  const RunPart = RUN_TABS.find((each) => each.id === tab)?.Part;
  return RunPart === undefined ? (
    <Performance {...{ id, run, tracked, underlying, overlay }} />
  ) : (
    <RunPart id={id} run={run} />
  );
}

/** Renders the definition as sentences with a table of contents, and as stored JSON. */
function Methodology({ index }: { readonly index: IndexDocument }) {
  const { id } = index;
  const store = useIndexStore(index) ?? null;
  const words = useAnswer('getMethodology', { params: { index_id: id } });
  return (
    <div class="stack gap-4 index-part">
      {getParameter('run_id') !== null && <p class="quiet">The current definition, independent of the selected run.</p>}
      <DefinitionVersion id={id} />
      <Answered resource={words} what="the methodology">
        {({ sentences }) => <Text sentences={sentences} store={store} />}
      </Answered>
      <details class="stack raised gap-3 designer-part">
        <summary>
          <h2>Definition as JSON</h2>
        </summary>
        <JsonDocument label="Definition as JSON" value={index} />
      </details>
    </div>
  );
}

/** Renders the version of the definition, and that of the latest run if it differs. */
function DefinitionVersion({ id }: { readonly id: string }) {
  const versions = useResource(`versions index ${id}`, (signal) => listVersions({ kind: 'index', id }, signal));
  const run = useResource(`newest run ${id}`, (signal) => readNewestRun(id, signal));
  const newest = versions.data?.versions[0];
  const used = run.data?.index_version ?? null;
  return (
    <div class="flow gap-3 methodology-version">
      <p>
        {newest !== undefined && (
          <>
            <strong>Version {newest.version}</strong>{' '}
            <span class="quiet">
              saved {formatMoment(newest.at)}
              {run.data === null && ', not run yet'}
              {used !== null && used !== newest.version && `, not run yet; the latest run uses version ${used}`}
            </span>
          </>
        )}
      </p>
      <a href={formatGovernanceAddress('statements', id)}>Benchmark statement</a>
      <Button onClick={() => print()}>Print</Button>
    </div>
  );
}

type Sentences = View['sentences'];
type SectionName = keyof typeof SECTION_TITLES;

interface TextProps {
  readonly sentences: Sentences;
  readonly store: string | null;
}

function Text({ sentences, store }: TextProps) {
  // In a narrow window, the contents are above the text and would fill the screen. They are folded.
  const [isOpen] = useState(() => matchMedia('(width >= 900px)').matches);
  const usedSections = (Object.keys(SECTION_TITLES) as SectionName[]).filter((name) =>
    sentences.some(({ section }) => section === name),
  );
  return (
    <div class="pile gap-5 methodology-page">
      <nav class="pile gap-3 methodology-contents" aria-label="Contents">
        <details open={isOpen}>
          <summary>Contents</summary>
          <ol>
            {usedSections.map((name) => (
              <li key={name}>
                <Button kind="bare" onClick={() => showSection(name)}>
                  {SECTION_TITLES[name]}
                </Button>
              </li>
            ))}
          </ol>
        </details>
      </nav>
      <div>
        {usedSections.map((name) => (
          <MethodologyPart
            key={name}
            name={name}
            sentences={sentences.filter(({ section }) => section === name)}
            store={store}
          />
        ))}
      </div>
    </div>
  );
}

/** Scrolls to a section and focuses its heading. */
function showSection(name: SectionName): void {
  const heading = document.getElementById(`methodology-${name}`);
  heading?.scrollIntoView({ block: 'start' });
  heading?.focus({ preventScroll: true });
}

interface MethodologyPartProps {
  readonly name: SectionName;
  readonly sentences: Sentences;
  readonly store: string | null;
}

function MethodologyPart({ name, sentences, store }: MethodologyPartProps) {
  const exchanges = useExchanges();
  const fieldList = useFields(store).data;
  const fields = new Set(fieldList?.fields.map((field) => field.name));
  return (
    <section class="methodology-part">
      <h2 id={`methodology-${name}`} tabIndex={-1}>
        {SECTION_TITLES[name]}
      </h2>
      <ol class="pile gap-2 methodology" start={sentences[0]?.number}>
        {sentences.map(({ number, text }) => {
          const { parts, rule } = createPlainSentence(text, fields, exchanges);
          return (
            <li key={number} value={number} title={rule === null ? undefined : `Rule ${rule}`}>
              {parts.map(({ text: partText, code }, k) =>
                code === undefined ? (
                  partText
                ) : (
                  <span key={k} title={code}>
                    {partText}
                  </span>
                ),
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function Terms({ strategy }: { readonly strategy: StoredStrategy['strategy'] }) {
  return (
    <div class="stack gap-4 index-part">
      <Section title="Definition">
        <JsonDocument label="Definition as JSON" value={strategy} />
      </Section>
    </div>
  );
}
