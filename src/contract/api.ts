import { analyticsRoutes } from './analytics/analytics.js';
import { accessRoutes, principalRoutes } from './access.js';
import { actionDeskRoutes } from './action-desk.js';
import { approvalRoutes } from './approvals.js';
import { auditRoutes, governanceRoutes } from './governance.js';
import { calendarRoutes, closureRoutes, eventRoutes } from './calendars.js';
import { changelogRoutes, documentationRoutes, healthRoutes, metricsRoutes } from './service.js';
import { dataRoutes } from './data.js';
import { derivativeRoutes } from './derivatives.js';
import { exportRoutes, replayRoutes, rerunRoutes, runDifferenceRoutes, runRoutes } from './runs.js';
import { mcpRoutes } from './mcp.js';
import { indexRoutes } from './indices/routes.js';
import { jobRoutes } from './job-routes.js';
import { optimiseRoutes } from './optimise.js';
import { publicationRoutes } from './publication.js';
import { receiptRoutes } from './receipts.js';
import { reportRoutes } from './reports.js';
import { riskModelImportRoutes, riskModelRoutes } from './risk-models.js';
import { rollingRiskRoutes, runViewRoutes } from './analytics/run-views.js';
import { scheduleRoutes } from './schedules.js';
import { differenceRoutes } from './differences.js';
import { simulationRoutes } from './simulations.js';
import { dataVersionRoutes, overrideRoutes, storeRoutes } from './stores.js';
import { sqlRoutes } from './sql.js';
import { strategyRoutes } from './strategies.js';
import { studyRoutes } from './studies.js';
import { accountBacktestRoutes, batchRoutes } from './batches.js';
import { sweepRoutes } from './sweeps.js';
import { versionRoutes } from './versions.js';
import { clientRoutes } from './clients.js';
import { watchlistRoutes } from './watchlists.js';
import { pluginRoutes } from './plugins.js';
import type { Route } from './route.js';

/**
 * Table of all routes of the service, by operation id. Routing, 405 responses, scopes, parsing, OpenAPI and the
 * documentation are derived from it. A new family adds its table of routes here and its handlers in `#cli/compose/`.
 */
export const API = {
  ...healthRoutes,
  ...metricsRoutes,
  ...changelogRoutes,
  ...principalRoutes,
  ...documentationRoutes,
  ...mcpRoutes,
  ...jobRoutes,
  ...calendarRoutes,
  ...eventRoutes,
  ...closureRoutes,
  ...indexRoutes,
  ...analyticsRoutes,
  ...runRoutes,
  ...runDifferenceRoutes,
  ...runViewRoutes,
  ...exportRoutes,
  ...sqlRoutes,
  ...optimiseRoutes,
  ...riskModelRoutes,
  ...riskModelImportRoutes,
  ...replayRoutes,
  ...sweepRoutes,
  ...batchRoutes,
  ...accountBacktestRoutes,
  ...rerunRoutes,
  ...studyRoutes,
  ...simulationRoutes,
  ...differenceRoutes,
  ...rollingRiskRoutes,
  ...reportRoutes,
  ...receiptRoutes,
  ...derivativeRoutes,
  ...strategyRoutes,
  ...storeRoutes,
  ...overrideRoutes,
  ...dataVersionRoutes,
  ...dataRoutes,
  ...clientRoutes,
  ...watchlistRoutes,
  ...pluginRoutes,
  ...scheduleRoutes,
  ...governanceRoutes,
  ...versionRoutes,
  ...publicationRoutes,
  ...approvalRoutes,
  ...actionDeskRoutes,
  ...accessRoutes,
  ...auditRoutes,
};

export type OperationId = keyof typeof API;

/** Path parameters that identify a result which never changes. */
const FINAL_PARAMETERS = /\{(?:version|render_id)\}|^\/optimise\/runs\//;

/** Returns true for a route whose result never changes. */
export const isFinal = ({ path }: Route): boolean => FINAL_PARAMETERS.test(path);

/** Tags of routes whose responses are no results. */
const OTHER_TAGS: ReadonlySet<string> = new Set(['documentation', 'service', 'mcp', 'health']);

/** Returns true for a read by POST that answers with its result. The verification of a text is none. */
const isRepeatable = ({ method, path, scope, tag, success: { status = 200, schema } }: Route): boolean =>
  method === 'POST' &&
  scope === 'read' &&
  !OTHER_TAGS.has(tag) &&
  status === 200 &&
  schema !== undefined &&
  path !== API.verifyText.path;

/** Returns true for a read whose response is a result, which has an address. */
export const hasResult = (route: Route): boolean => {
  const { method, scope, tag, success } = route;
  const isRead = method === 'GET' && scope === 'read' && !OTHER_TAGS.has(tag) && success.schema !== undefined;
  return isRead || isRepeatable(route);
};

/** Segments of the paths of the reads by POST. */
const REPEATABLE_PATHS = Object.values<Route>(API)
  .filter(isRepeatable)
  .map(({ path }) => path.split('/'));

/**
 * Returns true for the path of a read by POST that can be repeated. Ids have no character that could lead to another
 * route.
 */
export const isRepeatablePath = (path: string): boolean => {
  const segments = path.split('/');
  return REPEATABLE_PATHS.some(
    (names) =>
      names.length === segments.length &&
      names.every((name, i) => (name.startsWith('{') ? /^[\w-]+$/.test(segments[i]!) : name === segments[i])),
  );
};
