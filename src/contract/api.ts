import { analyticsRoutes } from './analytics/routes.js';
import { accessRoutes } from './access.js';
import { actionDeskRoutes } from './action-desk.js';
import { approvalRoutes } from './approvals.js';
import { auditRoutes } from './audit.js';
import { calendarRoutes } from './calendars.js';
import { eventRoutes } from './events.js';
import { changelogRoutes } from './changelog.js';
import { dataRoutes } from './data.js';
import { derivativeRoutes } from './derivatives.js';
import { documentationRoutes } from './documentation.js';
import { exportRoutes } from './exports.js';
import { governanceRoutes } from './governance.js';
import { healthRoutes } from './health.js';
import { mcpRoutes } from './mcp.js';
import { metricsRoutes } from './metrics.js';
import { indexRoutes } from './indices/routes.js';
import { jobRoutes } from './job-routes.js';
import { optimiseRoutes } from './optimise.js';
import { publicationRoutes } from './publication.js';
import { principalRoutes } from './principal.js';
import { replayRoutes } from './replays.js';
import { reportRoutes } from './reports.js';
import { riskModelImportRoutes } from './risk-model-imports.js';
import { riskModelRoutes } from './risk-models.js';
import { rollingRiskRoutes } from './rolling-risk.js';
import { scheduleRoutes } from './schedules.js';
import { simulationRoutes } from './simulations.js';
import { dataVersionRoutes } from './stores/data-versions.js';
import { storeRoutes } from './stores/routes.js';
import { overrideRoutes } from './stores/overrides.js';
import { sqlRoutes } from './sql.js';
import { strategyRoutes } from './strategies.js';
import { rerunRoutes } from './reruns.js';
import { studyRoutes } from './studies.js';
import { runDifferenceRoutes } from './analytics/run-differences.js';
import { runRoutes } from './analytics/runs.js';
import { runViewRoutes } from './analytics/run-view-routes.js';
import { accountBacktestRoutes } from './account-backtests.js';
import { batchRoutes } from './batches.js';
import { sweepRoutes } from './sweeps.js';
import { versionRoutes } from './versions.js';
import { closureRoutes } from './closures.js';
import { clientRoutes } from './clients.js';
import { watchlistRoutes } from './watchlists.js';
import { pluginRoutes } from './plugins.js';

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
  ...rollingRiskRoutes,
  ...reportRoutes,
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
