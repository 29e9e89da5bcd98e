import type { Route } from '#contract/route.js';
import { isBuiltIn } from '#domain/reports/built-in.js';
import { NAMED_DOCUMENTS } from '#domain/documents/named-documents.js';
import { isWithin, mayRead, type Reach } from '#domain/documents/reach.js';
import { refusePrefixes, outside } from '#services/operations/access.js';

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
  listProcedures listBatches getGovernance`.split(/\s+/),
);

/** Returns true if clients with prefixes may call an operation. */
export function knowsPrefixes(id: string, { path }: Route): boolean {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  if (
    names.some((name) => !(name in NAMED_DOCUMENTS) && !RESOLVED_PARAMETERS.has(name) && !SHARED_OPERATIONS.has(name))
  )
    return false;
  return (
    UNRESTRICTED_OPERATIONS.has(id) ||
    names.some((name) => name in NAMED_DOCUMENTS || RESOLVED_PARAMETERS.has(name) || SHARED_OPERATIONS.has(name))
  );
}

/**
 * Refuses a request for documents that a client with prefixes may not use. The client must be allowed to read the
 * documents in path and query. If the operation writes or runs, the client must own them.
 * @throws Refusal FORBIDDEN_ID, or the refusal of an absent document
 */
export function assertReach(
  { id, route }: { readonly id: string; readonly route: Route },
  getPathId: (name: string) => string | undefined,
  query: () => Readonly<Record<string, unknown>>,
  reach: Reach,
): void {
  if (!knowsPrefixes(id, route)) throw refusePrefixes(reach.prefixes);
  const assertReadable = (kind: string, subject: string): void => {
    if (!mayRead(reach, kind, subject)) throw outside(reach, kind, subject);
  };
  const assertNamed = (kind: string, subject: string | undefined): void => {
    if (subject === undefined || (kind === 'template' && isBuiltIn(subject))) return;
    if (route.scope === 'read') assertReadable(kind, subject);
    else if (!isWithin(reach, subject)) throw outside(reach, kind, subject);
  };
  for (const [name, { kind }] of Object.entries(NAMED_DOCUMENTS)) assertNamed(kind, getPathId(name));
  assertNamed(getPathId('kind') ?? '', getPathId('document_id'));
  const queryValues = query(); // the query is checked after the path, as in all routes
  for (const [name, { kind }] of Object.entries(NAMED_DOCUMENTS)) {
    const subject = queryValues[name];
    if (typeof subject !== 'string') continue;
    if (kind === 'store' && route.onStore === 'query') assertReadable(kind, subject);
    else assertNamed(kind, subject);
  }
}
