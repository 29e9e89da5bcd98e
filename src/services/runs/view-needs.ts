import { hasAcquirerRemoval } from '#domain/books/outside-mergers.js';
import { BacktestFields } from '#domain/documents/backtest-fields.js';
import type { RunViewNeed } from '#domain/run-views/terms.js';
import { assertOrder } from '#domain/schema/assert-order.js';
import { createHashCells } from '#jobs/hash-cells.js';
import type { ComparedWith } from '#jobs/tasks/views.js';
import { listNamedFiles } from '../stored/run-documents.js';
import { readRunDefinition } from '../stored/run-definition.js';
import { resolveRiskMeasure, type RequestedMeasure } from '../stored/used-models.js';
import { readCompared, addModels, type RunRequest, type NeedResolver, type NeedSources } from './need.js';
import { resolveFactorMeasure } from './factor-measure.js';
import { resolveIssuers, resolveScenarios, resolveWatchedRows } from './holding-needs.js';
import { resolveExposures } from './exposure-needs.js';
import { assertReferenceColumn } from './reference-column.js';
import { resolveRollingMemory } from './rolling-needs.js';

const readBenchmark = async (sources: NeedSources, { run, query }: RunRequest): Promise<ComparedWith | null> =>
  query.benchmark === undefined ? null : readCompared(sources, run, query.benchmark as string);

/** Function for each need of a view. Parameters have the types that the routes declare. */
export const NEEDS: Readonly<Record<RunViewNeed, NeedResolver>> = {
  window(_sources, { query }) {
    const { start, end, from, to } = query as Readonly<Record<string, string | undefined>>;
    assertOrder({ start: start ?? null, end: end ?? null });
    assertOrder({ start: from ?? null, end: to ?? null }, ['from', 'to']);
    return {};
  },
  market: async ({ states }, { run }) => ({ market: (await states.requireMarket(run)).handle }),
  async 'own-market'({ states, markets }, { run }) {
    markets.current(); // The store that was served before a restart may still be loading.
    return { market: (await states.findMarket(run))?.handle ?? null };
  },
  async 'outside-mergers'({ artifacts }, { run }) {
    if (run.artifacts.plan === undefined) return { removing: null };
    const { definition } = await readRunDefinition(artifacts, run);
    const document = definition.documents[definition.indexId]!; // a plan contains the document of its index
    return { removing: hasAcquirerRemoval(document) ? definition : null };
  },
  async 'same-store'({ states }, { run }) {
    await states.servedMarket(run);
    return {};
  },
  benchmark: async (sources, runRequest) => ({ benchmark: await readBenchmark(sources, runRequest) }),
  async 'run-benchmark'({ documents, artifacts, plans }, { run }) {
    const { benchmark } = BacktestFields.parse(run.request);
    const isIndex = benchmark?.kind === 'index' && (await documents.get('index', benchmark.id)) !== undefined;
    if (!isIndex) return { benchmark: null };
    const comparedIndex = { indexId: benchmark.id, documents: await plans.benchmarkDocuments(benchmark.id) };
    return { benchmark: await addModels({ documents, artifacts }, comparedIndex, run.store_id) };
  },
  async 'group-column'({ states }, { run, query }) {
    assertReferenceColumn((await states.requireMarket(run)).market, query.by as string);
    return {};
  },
  async risk(sources, runRequest) {
    const { documents, artifacts, states } = sources;
    const { run, query } = runRequest;
    const measure = await resolveRiskMeasure(
      { documents, artifacts },
      query as unknown as RequestedMeasure,
      run.store_id,
    );
    const benchmark = await readBenchmark(sources, runRequest);
    const isNeeded = benchmark !== null || measure.risk;
    const market = await (isNeeded ? states.requireMarket(run) : states.findMarket(run));
    const isMarketOfRun = market?.handle.contentHash === run.store_content_hash;
    return { ...measure, benchmark, market: market?.handle ?? null, isMarketOfRun };
  },
  factors: async (sources, { run, query }) => ({
    measure: await resolveFactorMeasure(sources, query, run.store_id),
  }),
  exposures: resolveExposures,
  issuers: resolveIssuers,
  'watched-rows': resolveWatchedRows,
  scenarios: resolveScenarios,
  memory: resolveRollingMemory,
  async files({ artifacts, jobs }, { run, afterwards }) {
    const files = await listNamedFiles(artifacts, run);
    const cells = createHashCells(files.length);
    // Hashing takes as long as all other work together. Another thread can compute some of the hashes.
    afterwards(() => jobs.help('hash-files', { paths: files.map(({ path }) => path), cells }));
    return { files, cells };
  },
};
