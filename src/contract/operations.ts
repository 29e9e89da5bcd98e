import { NAMED_DOCUMENTS } from '#domain/definition/reach.js';
import { API } from './api.js';
import { listPathParameters, type Route } from './route.js';

/** Parameters whose documents the guarded store checks. Their ids are random or come from a job. */
const RESOLVED_PARAMETERS: ReadonlySet<string> = new Set([
  'run_id',
  'render_id',
  'job_id',
  'sweep_id',
  'batch_id',
  'rerun_id',
  'study_id',
  'kind',
  'document_id',
  'approval_id',
]);

/** Parameters that do not name a document. Data and documentation are available to every client. */
const SHARED_OPERATIONS: ReadonlySet<string> = new Set([
  'identifier',
  'date',
  'table',
  'version',
  'page',
  'picture',
  'file_name',
  'methodology_id',
]);

/**
 * Operations that clients with prefixes may call although no parameter names a document. They return shared data and
 * catalogues, or documents that the guarded store limits to those of the client. All other operations, including new
 * ones, are refused to such clients.
 */
const UNRESTRICTED_OPERATIONS: ReadonlySet<string> = new Set(
  `callMcp getHealth getLiveness getReadiness getChangelog getPrincipal getOpenApi getDocumentation getGuide
  listCalendars listRuleTypes listOverlayTypes listMethodologyTemplates listConstraintTypes listObjectiveTypes
  getAssetReferences getCoverage getCoverageHistory getDataSource listFields listSeries searchIdentifiers getImportTemplate
  priceFutures priceTrs
  listJobs listJobKinds followJobs retryJobs listEvents getAudit
  listIndices createIndex validateIndex previewDocument sketchLevel whatIf evaluateDatapoint
  startBacktests listBacktests compareRuns listSummaries runSql
  listConstraintSets createConstraintSet validateConstraintSet startOptimisation previewOptimisation
  listRiskModels startSweep startRerun startBatch startStudy renderReport listRenders listTemplates
  listStrategies createStrategy validateStrategy
  listPlugins previewPlugin
  listStores createStore inspectData importStore generateSynthetic listWatchlists listSchedules listApprovals listClients
  listProcedures listBatches getGovernance verifyText`.split(/\s+/),
);

/** Returns true if clients with prefixes may call an operation. */
export function knowsPrefixes(id: string, { path }: Route): boolean {
  const names = listPathParameters(path);
  if (
    names.some((name) => !(name in NAMED_DOCUMENTS) && !RESOLVED_PARAMETERS.has(name) && !SHARED_OPERATIONS.has(name))
  )
    return false;
  return (
    UNRESTRICTED_OPERATIONS.has(id) ||
    names.some((name) => name in NAMED_DOCUMENTS || RESOLVED_PARAMETERS.has(name) || SHARED_OPERATIONS.has(name))
  );
}

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
