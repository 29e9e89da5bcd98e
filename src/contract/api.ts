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
