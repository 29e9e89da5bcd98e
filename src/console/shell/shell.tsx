import './toasts.css';
import './shell.css';
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button, Icon, type IconName, Popover } from '../components/controls/button.js';
import {
  Badge,
  Banner,
  createLazyComponent,
  EmptyState,
  PageSkeleton,
  Problem,
  Progress,
  Wait,
} from '../components/feedback.js';
import { findOnlyPart, GuideLinks, Page as PageFrame, showOnly } from '../components/layout/page.js';
import { chooseTheme, theme, type Theme, THEMES } from '../state/appearance.js';
import { connectionTrouble, getCheckKind, health, isOutdated, liveJobs } from '../state/live.js';
import { consoleLocation, type PageProps } from '../state/location.js';
import { prefetchIndexPage } from '../state/runs.js';
import {
  createTrouble,
  forgetKey,
  hasKey,
  isReached,
  requiredKeyMessage,
  session,
  signOut,
  type Trouble,
  worldVersion,
} from '../state/service.js';
import { dismiss, toasts } from '../state/toasts.js';
import { tour } from '../state/tour.js';
import { storeAddress } from '../words/addresses.js';
import { countValues } from '../words/numbers.js';
import type { PaletteProps } from './palette.js';

interface Entry {
  readonly path: string;
  readonly text: string;
  readonly icon: IconName;
  readonly own?: readonly string[];
}

const NAVIGATION_ENTRIES: readonly Entry[] = [
  { path: '/', text: 'Indices', icon: 'indices', own: ['/console/indices', '/console/strategies', '/console/plugins'] },
  { path: '/console/dashboard', text: 'Dashboard', icon: 'dashboard' },
  { path: '/console/calendar', text: 'Calendar', icon: 'calendar' },
  { path: '/console/compare', text: 'Compare', icon: 'compare' },
  { path: '/console/optimise', text: 'Optimise', icon: 'optimise', own: ['/console/risk-models'] },
  { path: '/console/batches', text: 'Personal indices', icon: 'person' },
  { path: '/console/sweeps', text: 'Sweeps', icon: 'sweeps' },
  { path: '/console/data', text: 'Data', icon: 'data', own: ['/console/names', '/console/watchlists'] },
  { path: '/console/reports', text: 'Reports', icon: 'reports' },
  { path: '/console/actions', text: 'Actions', icon: 'spark' },
  { path: '/console/schedules', text: 'Schedules', icon: 'schedules' },
  { path: '/console/approvals', text: 'Approvals', icon: 'approvals' },
  { path: '/console/governance', text: 'Governance', icon: 'governance' },
  { path: '/console/jobs', text: 'Jobs', icon: 'jobs' },
  { path: '/console/health', text: 'Health', icon: 'health' },
];

function Navigation() {
  const { path } = consoleLocation.value;
  return (
    <nav aria-label="Pages">
      <ul class="pile rail-links">
        {NAVIGATION_ENTRIES.map(({ path: address, text, icon, own = [] }) => {
          const isHere =
            path === address ||
            [address, ...own].some((start) => start !== '/' && (path === start || path.startsWith(`${start}/`)));
          return (
            <li key={address}>
              <a href={address} aria-current={isHere ? 'page' : undefined}>
                <Icon name={icon} />
                {text}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

function Toasts() {
  return (
    <div class="pile gap-2 toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, kind, text, link }) => (
        <div key={id} class={`pile frame raised gap-2 toast ${kind}`}>
          <p>{text}</p>
          {link !== undefined && <a href={link.address}>{link.text}</a>}
          <button type="button" class="pile second toast-close" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}

const Views = createLazyComponent<{ onClose(): void }>(
  'the views',
  async () => (await import('./view-parts.js')).Views,
);

/**
 * Renders a menu of the current page: copy its address, save it under a name, pin a part of it to the dashboard, and
 * open saved views.
 */
function ViewMenu() {
  return (
    <Popover label="Views" title={<Icon name="star" />} kind="bare">
      {(close) => <Views onClose={close} />}
    </Popover>
  );
}

interface TopBarProps {
  readonly onMenu: () => void;
  readonly isMenuOpen: boolean;
  readonly onFind: () => void;
}

function TopBar({ onMenu, isMenuOpen, onFind }: TopBarProps) {
  return (
    <header class="line gap-2 top-bar">
      <button
        type="button"
        class="bar-button menu-button"
        aria-expanded={isMenuOpen}
        aria-controls="rail"
        aria-label="Pages"
        onClick={onMenu}
      >
        <Icon name="menu" />
      </button>
      <button type="button" class="bar-button find-button" onClick={onFind}>
        <Icon name="search" />
        <span>Go to</span>
        <kbd>Ctrl K</kbd>
      </button>
      <div class="line gap-3 bar-state">
        <JobsState />
        <StoreState />
        <ViewMenu />
        <ThemeChoice />
      </div>
    </header>
  );
}

/** Renders a short state of the running jobs. It is a link to the page of jobs. */
function JobsState() {
  const jobs = liveJobs.value;
  if (jobs.length === 0) return null;
  const running = jobs.filter(({ status }) => status === 'running');
  const progress = running.reduce((sum, job) => sum + job.progress, 0) / Math.max(1, running.length);
  return (
    <a class="pile small second bar-jobs" href="/console/jobs">
      <span>{countValues(jobs.length, 'job')}</span>
      <Progress value={progress} label="Progress of running jobs" />
    </a>
  );
}

/** Renders the name of the served store and its last date, with the worst state of the health checks. */
function StoreState() {
  const { store, checks = [] } = health.value ?? {};
  if (store === undefined) return null;
  if (store.active === null)
    return (
      <a href="/console/data">
        <Badge kind="warning">no data served</Badge>
      </a>
    );
  const kinds = checks.map(getCheckKind);
  const worstKind = (['bad', 'warning'] as const).find((kind) => kinds.includes(kind)) ?? 'good';
  const remarks = checks.flatMap((check) => (getCheckKind(check) === 'good' ? [] : (check.message ?? check.name)));
  return (
    <a class="inline-line bar-store" href={storeAddress(store.active)} title={remarks.join('\n') || undefined}>
      <span class={`dot ${worstKind}`} aria-hidden="true" />
      <span class="quiet">Served</span>
      <span class="cut bar-store-name">{store.active}</span>
      <span class="quiet bar-store-end">{store.end ?? store.status}</span>
    </a>
  );
}

const THEME_WORDS: Readonly<Record<Theme, string>> = { system: 'system', light: 'light', dark: 'dark' };

function ThemeChoice() {
  const now = theme.value;
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]!; // the modulo keeps the position within the list
  return (
    <button
      type="button"
      class="bar-button"
      aria-label={`Theme: ${THEME_WORDS[now]}. Change to ${THEME_WORDS[next]}.`}
      title={`Theme: ${THEME_WORDS[now]}`}
      onClick={() => chooseTheme(next)}
    >
      <Icon name={now === 'dark' ? 'moon' : now === 'light' ? 'sun' : 'theme'} />
    </button>
  );
}

const loadPalette = async () => (await import('./palette.js')).Palette;

const Palette = createLazyComponent<PaletteProps>('the palette', loadPalette, ({ typed }) => (
  <input class="control" aria-label="Go to" onInput={(event) => (typed.current = event.currentTarget.value)} />
));

const Shortcuts = createLazyComponent<{ onClose(): void }>(
  'the shortcuts',
  async () => (await import('./shortcuts.js')).Shortcuts,
);

const KeyPage = createLazyComponent<{ readonly refused: string | null }>(
  'the form for a key',
  async () => (await import('./key-page.js')).KeyPage,
);

const TourCard = createLazyComponent('the tour', async () => (await import('./tour.js')).TourCard);

/** Time in milliseconds after which the palette is loaded. It then opens without a wait. */
const PALETTE_MS = 3000;

/** Renders the frame around every page. */
export function Shell() {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isFinding, setFinding] = useState(false);
  const { path } = consoleLocation.value;
  useEffect(() => setMenuOpen(false), [path]);
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette().catch(() => undefined), PALETTE_MS);
    return () => clearTimeout(timer);
  }, []);
  const part = findOnlyPart();
  useEffect(() => (part === null ? undefined : showOnly(part)), [part]);
  const [areKeysShown, showKeys] = useState(false);
  useShortcuts({ onFind: () => setFinding(true), onKeys: () => showKeys(true) });
  return (
    <div class="pile shell">
      <SkipLink text="Skip to content" target="#main" />
      <SkipLink text="Skip to the first row" target={FIRST_ROW} />
      <aside id="rail" class={isMenuOpen ? 'gap-4 rail is-open' : 'gap-4 rail'}>
        <a class="line gap-2 brand" href="/">
          <Mark /> Divisor
        </a>
        <Navigation />
        <div class="small rail-foot">
          {requiredKeyMessage.value === null && <GuideLinks />}
          {session.value?.signed_in === true && (
            <Button kind="bare" onClick={() => void signOut()}>
              <Icon name="key" /> Sign out {session.value.name}
            </Button>
          )}
          {hasKey.value && (
            <Button kind="bare" onClick={forgetKey}>
              <Icon name="key" /> Forget the key
            </Button>
          )}
          {health.value !== null && <span class="quiet">Version {health.value.version}</span>}
        </div>
      </aside>
      {isMenuOpen && <div class="veil" onClick={() => setMenuOpen(false)} />}
      <div class="beside">
        <TopBar isMenuOpen={isMenuOpen} onMenu={() => setMenuOpen(!isMenuOpen)} onFind={() => setFinding(true)} />
        <Notices />
        <main id="main" tabIndex={-1}>
          {requiredKeyMessage.value === null ? (
            <CurrentPage path={path} />
          ) : (
            <KeyPage refused={hasKey.value ? requiredKeyMessage.value : null} />
          )}
        </main>
      </div>
      {tour.value !== null && <TourCard />}
      <Toasts />
      {isFinding && <PaletteDialog onClose={() => setFinding(false)} onShortcuts={() => showKeys(true)} />}
      {areKeysShown && <Shortcuts onClose={() => showKeys(false)} />}
    </div>
  );
}

/** Renders the dialog of the palette. Its input accepts text before the script of the palette is loaded. */
function PaletteDialog(props: Omit<PaletteProps, 'typed'>) {
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useRef('');
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="raised palette" aria-label="Go to" onClose={props.onClose}>
      <Palette {...props} typed={typed} />
    </dialog>
  );
}

/**
 * Selector of the element that gets the focus: the focusable row of a table whose rows open, or a table whose rows do
 * not open. The first such element on the page is used.
 */
const FIRST_ROW = 'main :is([role=row], [role=table])[tabindex="0"]';

/**
 * Renders a link that moves the focus past the navigation: to a target on the page, or to the content if there is no
 * target.
 */
function SkipLink({ text, target }: { readonly text: string; readonly target: string }) {
  return (
    <a
      class="skip"
      href="#main"
      onClick={(event) => {
        event.preventDefault();
        const element = document.querySelector<HTMLElement>(target) ?? document.getElementById('main');
        const row = element?.getAttribute('role') === 'table' ? findDataRow(element) : null;
        if (row !== null) row.tabIndex = -1; // a row that does not open has no tab stop
        (row ?? element)?.focus();
      }}
    >
      {text}
    </a>
  );
}

/** Returns the first data row of a table. */
const findDataRow = (table: HTMLElement): HTMLElement | null =>
  table.querySelector<HTMLElement>('.table-rows > [role=row]');

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6" />
      <path d="M5 12.2h14" />
      <circle cx="12" cy="7" r="1.9" />
      <circle cx="12" cy="17.2" r="1.9" />
    </svg>
  );
}

interface ShortcutHandlers {
  onFind(): void;
  onKeys(): void;
}

/** Handles keyboard shortcuts: Ctrl+K and Command+K, and, outside of input fields, the question mark and the slash. */
function useShortcuts({ onFind, onKeys }: ShortcutHandlers): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const isField =
        event.target instanceof Element && event.target.closest('input, textarea, select, dialog') !== null;
      if (event.key === 'k' && (event.ctrlKey || event.metaKey)) onFind();
      else if (isField) return;
      else if (event.key === '?') onKeys();
      else if (event.key === '/') document.querySelector<HTMLElement>('main input[type=search]')?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}

function Notices() {
  const trouble = connectionTrouble.value;
  if (trouble === null && !isOutdated.value) return null;
  return (
    <div class="pile gap-2 notices">
      {trouble !== null && <Banner kind="warning" title={trouble} />}
      {isOutdated.value && (
        <Banner
          kind="info"
          title="The service was updated."
          action={<Button onClick={() => location.reload()}>Reload the page</Button>}
        />
      )}
    </div>
  );
}

interface LoadedPage {
  readonly found: FoundPage;
  readonly Page: ComponentType<PageProps> | null;
  readonly trouble: Trouble | null;
  /**
   * Value of `worldVersion` when the page was loaded. If a page failed, it is loaded again when `worldVersion` changes.
   */
  readonly world: number;
}

function CurrentPage({ path }: { readonly path: string }) {
  const [loaded, setLoaded] = useState<LoadedPage | null>(null);
  const foundPage = findPage(path);
  const isFirst = useRef(true);
  useEffect(() => {
    if (foundPage === undefined) return undefined;
    let isWanted = true;
    const take = (one: LoadedPage) => isWanted && setLoaded(one);
    if (loaded === null && requiredKeyMessage.peek() === null) foundPage.page.prime?.(foundPage.params);
    foundPage.page.load().then(
      (Page) => take({ found: foundPage, Page, trouble: null, world: worldVersion.peek() }),
      (thrown: unknown) => {
        // If the import of a script failed, browsers remember the failure until the page is reloaded.
        if (loaded?.trouble != null && loaded.found.page === foundPage.page && isReached.value) location.reload();
        else take({ found: foundPage, Page: null, trouble: createTrouble(thrown), world: worldVersion.peek() });
      },
    );
    return () => {
      isWanted = false;
    };
  }, [path, loaded?.trouble != null && loaded.world !== worldVersion.value]);
  // After a link, moves the focus into the new page, for keyboard users. Effects of the page run later and may move it
  // again.
  useLayoutEffect(() => {
    if (loaded === null) return;
    if (!isFirst.current) document.getElementById('main')?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [loaded?.found.page]);
  if (foundPage === undefined)
    return (
      <PageFrame title="Page not found">
        <EmptyState title={path} action={<a href="/">All indices</a>}>
          The console has no page at this address. The search at the top finds pages and documents by their names.
        </EmptyState>
      </PageFrame>
    );
  if (loaded === null || loaded.found.page !== foundPage.page)
    return <Wait what="the page" skeleton={<PageSkeleton />} />;
  const { Page, trouble } = loaded;
  if (Page === null || trouble !== null)
    return <Problem trouble={trouble ?? createTrouble('The page is empty.')} onRetry={() => location.reload()} />;
  return (
    <ErrorBoundary key={path}>
      <Page params={foundPage.params} />
    </ErrorBoundary>
  );
}

/** Catches the errors of a page and renders them in its place. All other pages stay usable. */
function ErrorBoundary({ children }: { readonly children: ComponentChildren }) {
  const [failure, reset] = useErrorBoundary((thrown: unknown) => reportError(thrown));
  const { query } = consoleLocation.value;
  useEffect(() => {
    if (failure !== undefined) reset();
  }, [query]);
  if (failure === undefined) return <>{children}</>;
  return (
    <PageFrame title="The page failed">
      <p>The page could not be displayed. Other pages are not affected.</p>
      <Problem trouble={createTrouble(failure)} onRetry={() => location.reload()} />
    </PageFrame>
  );
}

interface PageEntry {
  /** Path pattern with `:name` for parameters. */
  readonly path: string;
  readonly load: () => Promise<ComponentType<PageProps>>;
  /** Sends the first requests of the page. Called while the script of the page is loading. */
  readonly prime?: (params: Readonly<Record<string, string>>) => void;
}

/** Loads the pages of the registers. They share components and therefore one script. */
const loadGovernancePage = async () => (await import('../pages/governance/governance-page.js')).GovernancePage;

/**
 * All pages. The script of a page is loaded when it is first visited. Fixed parts of an address have priority over
 * parameters.
 */
const PAGES: readonly PageEntry[] = [
  { path: '/', load: async () => (await import('../pages/home/home.js')).Home },
  {
    path: '/console/indices/new',
    load: async () => (await import('../pages/designer/designer-page.js')).DesignerPage,
  },
  {
    path: '/console/indices/templates',
    load: async () => (await import('../pages/templates/templates-page.js')).TemplatesPage,
  },
  {
    path: '/console/indices/:id/edit',
    load: async () => (await import('../pages/designer/designer-page.js')).DesignerPage,
  },
  {
    path: '/console/indices/:id/rebalances/:date',
    load: async () => (await import('../pages/rebalance/rebalance-page.js')).RebalancePage,
  },
  {
    path: '/console/indices/:id',
    load: async () => (await import('../pages/index/index-page.js')).IndexPage,
    prime: (params) => prefetchIndexPage(params['id']!), // the route has this parameter
  },
  {
    path: '/console/optimise',
    load: async () => (await import('../pages/optimise/optimise-page.js')).OptimisePage,
  },
  {
    path: '/console/optimise/runs/:run',
    load: async () => (await import('../pages/optimise/run-page.js')).RunPage,
  },
  {
    path: '/console/risk-models',
    load: async () => (await import('../pages/risk-models/risk-models-page.js')).RiskModelsPage,
  },
  {
    path: '/console/risk-models/:id',
    load: async () => (await import('../pages/risk-models/risk-models-page.js')).RiskModelPage,
  },
  {
    path: '/console/dashboard',
    load: async () => (await import('../pages/dashboard/dashboard-page.js')).DashboardPage,
  },
  { path: '/console/calendar', load: async () => (await import('../pages/calendar/calendar-page.js')).CalendarPage },
  {
    path: '/console/calendar/closures/:id',
    load: async () => (await import('../pages/calendar/closures-page.js')).ClosuresPage,
  },
  { path: '/console/compare', load: async () => (await import('../pages/compare/compare-page.js')).ComparePage },
  { path: '/console/sweeps', load: async () => (await import('../pages/sweeps/sweeps-page.js')).SweepsPage },
  { path: '/console/batches', load: async () => (await import('../pages/batches/batches-page.js')).BatchesPage },
  { path: '/console/batches/:id', load: async () => (await import('../pages/batches/batch-page.js')).BatchPage },
  { path: '/console/data', load: async () => (await import('../pages/data/data-page.js')).DataPage },
  { path: '/console/data/sql', load: async () => (await import('../pages/sql/sql-page.js')).SqlPage },
  { path: '/console/data/import', load: async () => (await import('../pages/data/import-page.js')).ImportPage },
  { path: '/console/data/connect', load: async () => (await import('../pages/data/connect-page.js')).ConnectPage },
  { path: '/console/data/stores/:id', load: async () => (await import('../pages/data/store-page.js')).StorePage },
  {
    path: '/console/actions',
    load: async () => (await import('../pages/actions/actions-page.js')).ActionsPage,
  },
  {
    path: '/console/schedules',
    load: async () => (await import('../pages/schedules/schedules-page.js')).SchedulesPage,
  },
  {
    path: '/console/schedules/new',
    load: async () => (await import('../pages/schedules/schedules-page.js')).SchedulePage,
  },
  {
    path: '/console/schedules/:id',
    load: async () => (await import('../pages/schedules/days-page.js')).DaysPage,
  },
  {
    path: '/console/schedules/:id/edit',
    load: async () => (await import('../pages/schedules/schedules-page.js')).SchedulePage,
  },
  {
    path: '/console/approvals',
    load: async () => (await import('../pages/approvals/approvals-page.js')).ApprovalsPage,
  },
  ...['', '/:part', '/:part/:id'].map((rest) => ({ path: `/console/governance${rest}`, load: loadGovernancePage })),
  { path: '/console/jobs', load: async () => (await import('../pages/jobs/jobs-page.js')).JobsPage },
  { path: '/console/reports', load: async () => (await import('../pages/reports/reports-page.js')).ReportsPage },
  {
    path: '/console/reports/templates/new',
    load: async () => (await import('../pages/reports/reports-page.js')).TemplatePage,
  },
  {
    path: '/console/reports/templates/:id',
    load: async () => (await import('../pages/reports/reports-page.js')).TemplatePage,
  },
  {
    path: '/console/strategies/new',
    load: async () => (await import('../pages/strategies/strategy-page.js')).StrategyPage,
  },
  {
    path: '/console/strategies/:id/edit',
    load: async () => (await import('../pages/strategies/strategy-page.js')).StrategyPage,
  },
  {
    path: '/console/watchlists',
    load: async () => (await import('../pages/watchlists/watchlists-page.js')).WatchlistsPage,
  },
  {
    path: '/console/watchlists/new',
    load: async () => (await import('../pages/watchlists/watchlists-page.js')).WatchlistPage,
  },
  {
    path: '/console/watchlists/:id',
    load: async () => (await import('../pages/watchlists/watchlists-page.js')).WatchlistPage,
  },
  { path: '/console/plugins', load: async () => (await import('../pages/plugins/plugins-page.js')).PluginsPage },
  { path: '/console/plugins/new', load: async () => (await import('../pages/plugins/plugins-page.js')).PluginPage },
  { path: '/console/plugins/:id', load: async () => (await import('../pages/plugins/plugins-page.js')).PluginPage },
  { path: '/console/health', load: async () => (await import('../pages/health/health-page.js')).HealthPage },
  { path: '/console/names', load: async () => (await import('../pages/names/name-page.js')).NamesPage },
  { path: '/console/names/:name', load: async () => (await import('../pages/names/name-page.js')).NamePage },
  { path: '/console/sweeps/:id', load: async () => (await import('../pages/sweeps/sweep-page.js')).SweepPage },
];

interface FoundPage {
  readonly page: PageEntry;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds the page of an address. `/console` alone is the first page. */
function findPage(path: string): FoundPage | undefined {
  const parts = splitPath(path.replace(/^\/console\/?$/, '/'));
  for (const page of PAGES) {
    const params = matchPattern(splitPath(page.path), parts);
    if (params !== undefined) return { page, params };
  }
  return undefined;
}

const splitPath = (path: string): readonly string[] => path.split('/').filter(Boolean);

function matchPattern(pattern: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, word] of pattern.entries()) {
    const part = parts[i]!; // both lists have the same length
    if (word.startsWith(':')) params[word.slice(1)] = decodePart(part);
    else if (word !== part) return undefined;
  }
  return params;
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
