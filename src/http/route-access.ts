import type { Route } from '#contract/route.js';
import { isBuiltIn } from '#domain/reports/built-in.js';
import { NAMED_DOCUMENTS } from '#domain/documents/named-documents.js';
import { isWithin, mayRead, type Reach } from '#domain/documents/reach.js';
import { notForPrefixes, outside } from '#services/operations/access.js';

/** Parameters whose documents the guarded store looks at, since they are named by chance or by a job. */
const LOOKED_UP: ReadonlySet<string> = new Set(['run_id', 'render_id', 'job_id', 'sweep_id', 'kind', 'document_id']);

/** Parameters that name no document: data and documentation are everybody's. */
const SHARED: ReadonlySet<string> = new Set([
  'identifier',
  'date',
  'table',
  'version',
  'page',
  'picture',
  'methodology_id',
]);

/**
 * Operations without a parameter that names a document: those that concern everybody's data and catalogues, and those
 * that read and write documents, which the guarded store limits to what a client may reach. Every other one is refused
 * to clients with prefixes, also one that is new.
 */
const OPEN: ReadonlySet<string> = new Set(
  `callMcp getHealth getLiveness getReadiness getChangelog getPrincipal getOpenApi getDocumentation getGuide
  listCalendars listRuleTypes listOverlayTypes listMethodologyTemplates listConstraintTypes listObjectiveTypes
  getAssetReferences getCoverage getCoverageHistory getDataSource listFields listSeries searchIdentifiers getImportTemplate
  priceFutures priceTrs
  listJobs followJobs retryJobs listEvents getAudit
  listIndices createIndex validateIndex previewDocument whatIf evaluateDatapoint
  startBacktests listBacktests compareRuns listSummaries
  listConstraintSets createConstraintSet validateConstraintSet startOptimisation previewOptimisation
  listRiskModels startSweep renderReport listRenders listTemplates
  listStrategies createStrategy validateStrategy
  listPlugins
  listStores createStore inspectData importStore generateSynthetic listWatchlists`.split(/\s+/),
);

/** Whether a client with prefixes may call an operation at all. */
export function knowsPrefixes(id: string, { path }: Route): boolean {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  if (names.some((name) => !(name in NAMED_DOCUMENTS) && !LOOKED_UP.has(name) && !SHARED.has(name))) return false;
  return OPEN.has(id) || names.some((name) => name in NAMED_DOCUMENTS || LOOKED_UP.has(name) || SHARED.has(name));
}

/**
 * Refuses what a client with prefixes may not ask of an operation: its path and query name documents that it may read,
 * and where it writes or runs its own.
 * @throws Refusal FORBIDDEN_ID, or that of an absent document
 */
export function assertReach(
  { id, route }: { readonly id: string; readonly route: Route },
  named: (name: string) => string | undefined,
  query: () => Readonly<Record<string, unknown>>,
  reach: Reach,
): void {
  if (!knowsPrefixes(id, route)) throw notForPrefixes(reach.prefixes);
  const assertNamed = (kind: string, subject: string | undefined): void => {
    if (subject === undefined || (kind === 'template' && isBuiltIn(subject))) return;
    const isAllowed = route.scope === 'read' ? mayRead(reach, kind, subject) : isWithin(reach, subject);
    if (!isAllowed) throw outside(reach, kind, subject);
  };
  for (const [name, { kind }] of Object.entries(NAMED_DOCUMENTS)) assertNamed(kind, named(name));
  assertNamed(named('kind') ?? '', named('document_id'));
  const asked = query(); // which is looked at after the path, as everywhere
  for (const [name, { kind }] of Object.entries(NAMED_DOCUMENTS)) {
    const subject = asked[name];
    if (typeof subject === 'string') assertNamed(kind, subject);
  }
}
