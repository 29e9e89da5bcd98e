import './palette.css';
import { type MutableRef, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { DataStore, IdentifierSearch, JobStatus } from '#clients/typescript/divisor.js';
import { Badge } from '../components/feedback.js';
import { RUN_TABS } from '../pages/index/run-tabs.js';
import { activateStore, runIndex } from '../state/actions.js';
import { chooseTheme, THEMES } from '../state/appearance.js';
import { copyText } from '../state/files.js';
import { consoleLocation, formatAddress, navigate } from '../state/location.js';
import { savedViews } from '../state/saved.js';
import { may, service, useAnswer, useList, useResource } from '../state/service.js';
import { findLastVisit, getVisitedPath, recentVisits } from '../state/stored-list.js';
import { formatKeptAddress, isUnregistered, useStores } from '../state/stores.js';
import { showToast } from '../state/toasts.js';
import { startTour } from '../state/tour.js';
import {
  formatClosuresAddress,
  formatGovernanceAddress,
  formatIndexAddress,
  formatPluginAddress,
  formatRiskModelAddress,
  formatSecurityAddress,
  formatTemplateAddress,
  formatWatchlistAddress,
  storeAddress,
} from '../words/addresses.js';
import { formatMoment } from '../words/dates.js';
import { describeSubject, formatJobAddress, formatJobId } from '../words/jobs.js';
import { findTargets, suggestComparisons, STORE_PARTS, type Target } from '../words/search.js';
import { STEPS } from './tour.js';

interface KnownSubjects {
  readonly indices: readonly { readonly id: string; readonly store_id: string | null }[];
  /** Registered data stores; undefined until they are known. */
  readonly stores: readonly DataStore[] | undefined;
  onShortcuts(): void;
}

const createAction = (name: string, text: string, act: () => unknown, words = ''): Target => ({
  address: `action ${name}`,
  text,
  kind: 'action',
  words,
  act,
});

const link = (address: string, text: string): Target => ({ address, text, kind: 'action' });

/** Returns the global actions that the API key allows. */
function createActions({ indices, stores, onShortcuts }: KnownSubjects): readonly Target[] {
  return [
    ...indices.flatMap(({ id, store_id: store }) => [
      ...(may('run') && !isUnregistered(stores, store)
        ? [createAction(`run ${id}`, `Run ${id}`, () => runStaleIndex(id), 'backtest')]
        : []),
      ...(may('write')
        ? [
            link(`${formatIndexAddress(id)}/edit`, `Edit ${id}`),
            link(formatAddress('/console/optimise', { index: id }), `Optimise ${id}`),
          ]
        : []),
    ]),
    ...(may('data')
      ? (stores ?? [])
          .filter(({ active }) => !active)
          .map(({ store_id: id, name }) => ({
            ...createAction(`serve ${id}`, `Serve ${id}`, () => activateStore(id), 'switch market'),
            name,
          }))
      : []),
    ...THEMES.map((theme) => createAction(`theme ${theme}`, `Theme: ${theme}`, () => chooseTheme(theme))),
    ...(indices.length === 0 ? [] : [createAction('tour', 'Take the tour', () => takeTour(indices))]),
    createAction('copy', 'Copy the address of the page', () =>
      copyText(location.origin + formatKeptAddress(), 'the address'),
    ),
    createAction('print', 'Print the page', () => print()),
    createAction('shortcuts', 'Keyboard shortcuts', onShortcuts),
  ];
}

/** Runs an index if its run is stale. Otherwise reports that its run is current. */
async function runStaleIndex(id: string): Promise<void> {
  const answer = await runIndex(id, { if_stale: true });
  if (answer !== undefined && !('created_at' in answer))
    showToast('info', `The run of ${id} is current.`, { address: formatIndexAddress(id), text: 'Open' });
}

/** Starts the tour on the index that is open or was open last. */
function takeTour(indices: KnownSubjects['indices']): void {
  const id = findLastVisit(indices.map((index) => index.id))!; // there are indices
  startTour(id);
  navigate(STEPS[0]!.address(id)); // the tour has steps
}

const createPageTarget = (address: string, text: string, words = ''): Target => ({
  address,
  text,
  kind: 'page',
  words,
});

/** Pages whose address contains no id, with other words by which they are found. */
const PAGE_TARGETS: readonly Target[] = [
  createPageTarget('/', 'Indices', 'home overview'),
  createPageTarget('/console/dashboard', 'Dashboard', 'pinned'),
  createPageTarget('/console/compare', 'Compare', 'comparison correlation'),
  createPageTarget('/console/optimise', 'Optimise', 'optimisation constraints'),
  createPageTarget('/console/risk-models', 'Risk models', 'covariance'),
  createPageTarget('/console/calendar', 'Calendar', 'events holidays'),
  createPageTarget('/console/sweeps', 'Sweeps', 'variants parameters'),
  createPageTarget('/console/batches', 'Personal indices', 'batches accounts'),
  createPageTarget('/console/data', 'Data', 'stores datasets'),
  createPageTarget('/console/data/import', 'Import data', 'files csv zip upload'),
  createPageTarget('/console/data/connect', 'Connect data', 'database vendor source'),
  createPageTarget('/console/data/sql', 'SQL', 'query tables'),
  createPageTarget('/console/names', 'Securities', 'names identifiers'),
  createPageTarget('/console/watchlists', 'Watchlists'),
  createPageTarget('/console/indices/templates', 'Templates', 'methodologies gallery'),
  createPageTarget('/console/plugins', 'Plug-ins', 'extensions plugins'),
  createPageTarget('/console/reports', 'Reports', 'factsheets pdf'),
  createPageTarget('/console/actions', 'Corporate actions', 'dividends splits'),
  createPageTarget('/console/schedules', 'Schedules', 'unattended'),
  createPageTarget('/console/approvals', 'Approvals'),
  createPageTarget('/console/governance', 'Governance', 'statements iosco bmr evidence'),
  createPageTarget(formatGovernanceAddress('clients'), 'Clients', 'deliveries targets entitlements'),
  createPageTarget(formatGovernanceAddress('procedures'), 'Procedures', 'cessation complaints'),
  createPageTarget(formatGovernanceAddress('errors'), 'Register of errors', 'restatements'),
  createPageTarget(formatGovernanceAddress('judgements'), 'Expert judgements', 'waivers register'),
  createPageTarget(formatGovernanceAddress('audit'), 'Audit log', 'extract'),
  createPageTarget('/console/jobs', 'Jobs', 'queue log'),
  createPageTarget('/console/health', 'Health', 'status'),
];

/** Pages with a form for a new document. Each has its address, its text and words by which it is found. */
const FORM_TARGETS: readonly (readonly [string, string, string])[] = [
  ['/console/indices/new', 'New index', 'create an add'],
  ['/console/indices/templates', 'New index from a template', 'create add'],
  ['/console/schedules/new', 'New schedule', 'create a add'],
  [formatGovernanceAddress('clients', 'new'), 'New client', 'create a add delivery'],
  [formatGovernanceAddress('procedures', 'new'), 'New procedure', 'create a add cessation'],
  ['/console/reports/templates/new', 'New report template', 'create a add'],
  ['/console/watchlists/new', 'New watchlist', 'create a add'],
  ['/console/plugins/new', 'New plug-in', 'create a add plugin'],
  ['/console/risk-models', 'New risk model', 'create a add estimate'],
  ['/console/sweeps/new', 'New sweep', 'create a add variants'],
  ['/console/optimise', 'New optimisation', 'create an add constraint set'],
  ['/console/compare', 'New comparison', 'create a add compare'],
];

/** Returns the actions that create a document. Returns none if the API key may not write. */
const listFormTargets = (): readonly Target[] =>
  may('write')
    ? FORM_TARGETS.map(([address, text, words]) => ({
        address: `form ${text}`,
        text,
        kind: 'action',
        words,
        act: () => navigate(address),
      }))
    : [];

interface Subject {
  readonly id: string;
  readonly name: string;
}

interface Subjects {
  readonly indices: readonly (Subject & { readonly calendar: string })[];
  readonly strategies: readonly Subject[];
  readonly stores: readonly Subject[];
}

/**
 * Returns targets below a page: the tabs of all indices, strategies and data stores, and the closures of the calendars.
 * For each index, also its statement and the form of a new strategy.
 */
function listPartTargets({ indices, strategies, stores }: Subjects): readonly Target[] {
  const calendars = [...new Set(indices.map(({ calendar }) => calendar))];
  const createPartTargets =
    (
      list: readonly { readonly id: string; readonly text: string; readonly words?: string }[],
      addressOfPage: (id: string) => string,
    ) =>
    ({ id, name }: Subject): readonly Target[] =>
      list.map(({ id: tab, text, words = '' }) => ({
        address: formatAddress(addressOfPage(id), { tab }),
        text: `${id} ${text}`,
        tab: `${text} ${words}`,
        kind: 'page',
        words: `${name} ${words}`,
      }));
  return [
    ...calendars.map((code) =>
      createPageTarget(formatClosuresAddress(code), `Closures of ${code}`, 'calendar holidays half days'),
    ),
    ...[...indices, ...strategies].flatMap(createPartTargets(RUN_TABS, formatIndexAddress)),
    ...stores.flatMap(createPartTargets(STORE_PARTS, storeAddress)),
    ...indices.map(({ id, name }) =>
      createPageTarget(formatGovernanceAddress('statements', id), `Statement of ${id}`, `benchmark ${name}`),
    ),
    ...(may('write')
      ? indices.map(({ id, name }) => ({
          address: formatAddress('/console/strategies/new', { index: id }),
          text: `New strategy on ${id}`,
          kind: 'action',
          words: `create a add follow ${name}`,
        }))
      : []),
  ];
}

/** Minimum number of letters for which securities are searched. */
const LETTERS_MIN = 2;
/**
 * Number of securities of the served store from which other stores are not searched. A search loads a store that is not
 * in memory, and the stores that are not served share the memory of one store.
 */
const ENOUGH = 3;
/** Maximum number of other stores that are searched. Each is one request for a typed text. */
const STORES_MAX = 8;

/**
 * Returns the securities that match a text. If the served store has few, those of other stores follow, with the name of
 * their store.
 * @param text typed text in lower case
 * @param limit maximum number of securities of a store
 */
function useSecurityTargets(text: string, stores: readonly DataStore[], limit: number): readonly Target[] {
  const search = (signal: AbortSignal, storeId?: string) =>
    service.value.call('searchIdentifiers', {
      query: { q: text, limit, ...(storeId === undefined ? {} : { store_id: storeId }) },
      signal,
    });
  const served = useResource(
    text.length < LETTERS_MIN ? null : `palette names ${text}`,
    async (signal) => ({ text, identifiers: (await search(signal)).identifiers }),
    { follows: false },
  );
  const otherStores = stores
    .filter(({ active, status, identifiers }) => !active && status === 'ready' && identifiers !== null)
    .slice(0, STORES_MAX);
  // For one render after a change of the text, the securities are those of the previous text. Without a served store,
  // the search fails.
  const isFew =
    served.data === undefined
      ? served.trouble !== null
      : served.data.text === text && served.data.identifiers.length < ENOUGH;
  const others = useResource(
    isFew && otherStores.length > 0 ? `palette names of other stores ${text}` : null,
    async (signal) => {
      const found = otherStores.map(async ({ store_id: storeId, name: storeName }) => {
        const answer = await search(signal, storeId).catch(() => null); // the other stores may be readable
        return (answer?.identifiers ?? []).map((security) => createTarget(security, { storeId, storeName }));
      });
      return (await Promise.all(found)).flat();
    },
    { follows: false },
  );
  return [...(served.data?.identifiers ?? []).map((security) => createTarget(security)), ...(others.data ?? [])];
}

/** Creates the search result for a security, for example `VAJM Vajm Foods, in Tokyo`. */
function createTarget(
  { identifier, name }: IdentifierSearch['identifiers'][number],
  store?: { readonly storeId: string; readonly storeName: string },
): Target {
  const place = store === undefined ? '' : `, in ${store.storeName}`;
  return {
    address: formatSecurityAddress(identifier, store?.storeId),
    ...(name === null ? { text: identifier + place } : { text: identifier, name: name + place }),
    kind: 'security',
  };
}

const SHOWN_MAX = 12;
const RECENT_SHOWN = 6;

/** Kinds of jobs with a page for their result. */
const RESULT_PHRASES = { sweep: 'sweep', optimise: 'optimisation', render: 'report' } as const;
/** Maximum number of searched results, newest first. */
const RESULTS_MAX = 200;

/**
 * Returns the search results for a typed text. Pages, documents and actions are found from the first character,
 * securities from the second. If no text is typed, returns the pages that were visited recently.
 */
function useTargets(typed: string, onShortcuts: () => void): readonly Target[] {
  const text = typed.trim().toLowerCase();
  const indices = useList('indices');
  const strategies = useList('strategies');
  const stores = useStores();
  const templates = useList('templates');
  const watchlists = useList('watchlists');
  const plugins = useList('plug-ins');
  const models = useList('risk models');
  const results = useAnswer('listJobs', {
    query: { kind: ['sweep', 'optimise', 'render'], status: ['succeeded'], limit: RESULTS_MAX },
  });
  const securities = useSecurityTargets(text, stores.data?.stores ?? [], SHOWN_MAX);
  const all: readonly Target[] = [
    ...PAGE_TARGETS,
    ...savedViews.value.map(({ name, address }) => ({ address, text: name, kind: 'view' })),
    ...(indices.data?.indices ?? []).map(({ id, name, kind }) => ({
      address: formatIndexAddress(id),
      text: id,
      name,
      kind: kind === 'overlay' ? 'overlay' : 'index',
    })),
    ...(strategies.data?.strategies ?? []).map(({ strategy: { id, name } }) => ({
      address: formatIndexAddress(id),
      text: id,
      name,
      kind: 'strategy',
    })),
    ...(stores.data?.stores ?? []).map(({ store_id: id, name }) => ({
      address: storeAddress(id),
      text: id,
      name,
      kind: 'store',
    })),
    ...(templates.data?.templates ?? []).map(({ template_id: id, name }) => ({
      address: formatTemplateAddress(id),
      text: id,
      name,
      kind: 'template',
    })),
    ...(watchlists.data?.watchlists ?? []).map(({ watchlist_id: id, name }) => ({
      address: formatWatchlistAddress(id),
      text: id,
      name,
      kind: 'watchlist',
    })),
    ...(plugins.data?.plugins ?? []).map(({ plugin_id: id, name }) => ({
      address: formatPluginAddress(id),
      text: id,
      name,
      kind: 'plug-in',
    })),
    ...(models.data?.risk_models ?? []).map(({ model_id: id }) => ({
      address: formatRiskModelAddress(id),
      text: id,
      kind: 'risk model',
    })),
    ...(results.data?.jobs ?? []).map(createResultTarget),
  ];
  if (text === '')
    return [
      ...recentVisits.value
        .toReversed()
        .filter((visit) => getVisitedPath(visit) !== consoleLocation.value.path)
        .slice(0, RECENT_SHOWN)
        .map((visit) => ({ ...visit, kind: 'recent' })),
      ...PAGE_TARGETS.filter(({ address }) => recentVisits.value.every((visit) => getVisitedPath(visit) !== address)),
    ].slice(0, SHOWN_MAX);
  const actions = createActions({
    indices: indices.data?.indices ?? [],
    stores: stores.data?.stores,
    onShortcuts,
  });
  const parts = listPartTargets({
    indices: indices.data?.indices ?? [],
    strategies: (strategies.data?.strategies ?? []).map(({ strategy }) => strategy),
    stores: (stores.data?.stores ?? []).map(({ store_id: id, name }) => ({ id, name })),
  });
  const comparisons = suggestComparisons(text, indices.data?.indices ?? []);
  const found = findTargets([...all, ...listFormTargets(), ...actions, ...parts], text, securities);
  return [...comparisons, ...found].slice(0, SHOWN_MAX);
}

/** Creates the search result for a job, for example `CORE, 21 Nov 2026 18:00` for a sweep of CORE. */
const createResultTarget = (job: JobStatus): Target => ({
  address: formatJobAddress(job),
  text: `${describeSubject(job) || formatJobId(job)}, ${formatMoment(job.finished_at ?? job.created_at)}`,
  kind: RESULT_PHRASES[job.kind as keyof typeof RESULT_PHRASES], // only these kinds were requested
});

export interface PaletteProps {
  /** Text that was typed before the palette was loaded. */
  readonly typed: MutableRef<string>;
  onClose(): void;
  onShortcuts(): void;
}

/** Renders the content of the command palette. It finds pages, documents and securities by their text, and runs global actions. */
export function Palette({ typed: early, onClose, onShortcuts }: PaletteProps) {
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(early.current);
  const [at, setAt] = useState(0);
  useLayoutEffect(() => input.current?.focus(), []);
  const targets = useTargets(typed, onShortcuts);
  const chosenTarget = targets[Math.min(at, targets.length - 1)];
  const open = (target: Target | undefined) => {
    if (target === undefined) return;
    onClose();
    if (target.act === undefined) navigate(target.address);
    else target.act();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, targets.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1));
    else if (event.key === 'Enter') open(chosenTarget);
    else return;
    event.preventDefault();
  };
  return (
    <div onKeyDown={onKeyDown}>
      <input
        ref={input}
        class="control"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={chosenTarget && `to-${chosenTarget.address}`}
        aria-label="Page, document, security or action"
        placeholder="Page, document, security or action"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Found">
        {targets.map((target) => (
          <li
            key={target.address}
            id={`to-${target.address}`}
            role="option"
            aria-selected={target === chosenTarget}
            onClick={() => open(target)}
          >
            <span>
              {target.name === undefined ? (
                target.text
              ) : (
                <>
                  <strong>{target.text}</strong> <span class="second palette-name">{target.name}</span>
                </>
              )}
            </span>{' '}
            {target.kind === 'action' ? <Badge kind="info">action</Badge> : <span class="quiet">{target.kind}</span>}
          </li>
        ))}
      </ul>
      {targets.length === 0 && (
        <p class="quiet" role="status">
          No matches.
        </p>
      )}
      <p class="quiet">↑ ↓ choose · Enter opens · Esc closes</p>
    </div>
  );
}
