import type { ComponentType } from 'preact';
import { prefetchIndexPage } from '../state/runs.js';
import type { PageProps } from '../state/location.js';

export interface PageEntry {
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
export const PAGES: readonly PageEntry[] = [
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

export interface FoundPage {
  readonly page: PageEntry;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds the page of an address. `/console` alone is the first page. */
export function findPage(path: string): FoundPage | undefined {
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
