import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { allocateRetainedMemory } from '#base/memory.js';
import { requireSandbox, SandboxError } from '#base/sandbox/sandbox.js';
import { PluginUpsert } from '#contract/plugins.js';
import { BacktestRequest } from '#contract/run.js';
import { assertForeign, assertRunnable, resolveRequest } from '#domain/backtest/plan.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { openColumns, openRecordParts } from '#domain/backtest/run-file/read.js';
import { createRunFiles, type RunFiles } from '#domain/backtest/run-file/write.js';
import { assertMeasured } from '#domain/backtest/summary.js';
import { compareText, type Finding, sortFindings } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { assertHasDates, assertOrder } from '#domain/base/requested-dates.js';
import { checkShape } from '#domain/base/schema.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { createComposer, type DatedMarkets } from '#domain/books/composer.js';
import type { Composer } from '#domain/books/compositions.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { type BacktestPlan, readStoredModelId } from '#domain/definition/backtest-plan.js';
import { checkConstraintSet } from '#domain/definition/constraint-sets.js';
import { fillPlugins, removeComputedParts, type StoredPluginCode } from '#domain/definition/document-expressions.js';
import { checkConstraintFields, checkSpecFields } from '#domain/definition/field-uses.js';
import { type IndexDocument, isRuleDocument } from '#domain/definition/index-document.js';
import { checkOnMarket, validateIndex } from '#domain/definition/index-validation.js';
import { readOptimisationRequest } from '#domain/definition/optimisation-requests.js';
import { reportMissingReturns } from '#domain/definition/optimisation.js';
import { assertDecides } from '#domain/definition/overlay-checks.js';
import {
  addPluginDefaults,
  checkPlugin,
  createProgram,
  createSourceFinding,
  type PluginDocument,
  resolvePluginCode,
} from '#domain/definition/plugins.js';
import { listReferences } from '#domain/definition/references.js';
import { type BenchmarkRef, parseBenchmark } from '#domain/definition/runs.js';
import type { MarketData } from '#domain/market/market-data.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import { explainWeight } from '#domain/optimisation/explanation.js';
import { readRequestTerms, runOptimisation } from '#domain/optimisation/run.js';
import { isCashName } from '#domain/outputs/exports.js';
import type { StoredModels } from '#domain/risk/stored-models.js';
import type { Engine } from '#kernels/engines/engine.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createClosesView } from '#views/closes.js';
import { createIndexLevels } from '#views/levels.js';
import { toOptimisationResult } from '#views/optimisation.js';
import { answerPreview, toIndexExplanation } from '#views/preview.js';
import { createWeightsView, readPositiveWeights } from '#views/weights.js';
import type * as Api from './api.js';
import { readKnownMarkets, readMarket } from './markets.js';
import { createModels, type EngineModels, type IndexTerms } from './risk-models.js';
import { readPackageVersion } from './version.js';

export interface PlanInput {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly plan: BacktestPlan;
  readonly engine: Engine;
  readonly models: StoredModels;
  readonly known: DatedMarkets | undefined;
}

/** Returns the files of a plan's run, as the service stores them. @throws Refusal for the same reasons as a backtest */
function computePlanFiles({ engine, ...input }: PlanInput): RunFiles {
  const run = runBacktest({
    ...input,
    createDecider: createIndexDeciders(engine),
    engine,
    memory: allocateRetainedMemory,
    pricesApart: true,
    report: () => {},
  });
  assertMeasured({ ...run, relative: run.benchmark && run.benchmark.relative });
  return createRunFiles(run, { contentHash: input.market.contentHash, inPlace: true });
}

/** Returns a digest of all bytes of a run. If the file contains the prices, the digest equals that of the file. */
function computeDigest({ columns, prices }: RunFiles): string {
  const hash = createHash('sha256').update(columns);
  for (const part of prices?.parts() ?? []) hash.update(part);
  return hash.digest('hex');
}

/** Runs a plan. */
function runPlan(input: PlanInput): Api.Backtest {
  const files = computePlanFiles(input);
  const columns = openColumns((start, end) => files.columns.subarray(start, end));
  const { header } = columns;
  const recordParts = openRecordParts(columns);
  return {
    index_id: header.run_id,
    dates: [...columns.i32('days')].map(formatDay),
    level: columns.f64('level'),
    metrics: recordParts.metrics(),
    total_costs: columns.f64('costs').reduce((sum, cost) => sum + cost, 0),
    findings: recordParts.findings() as Api.Backtest['findings'], // the contract declares the same findings
    rebalances: header.rebalances.map(({ date }) => date),
    hash: computeDigest(files),
    levels(variant) {
      const { days, levels, divisor, ...found } = createIndexLevels(columns, {
        variant: variant ?? null,
        start: null,
        end: null,
      });
      return { variant: found.variant, dates: [...days].map(formatDay), levels, divisor };
    },
    weights(asOf) {
      const {
        index_id: _,
        requested_as_of: _asked,
        risk: _risk,
        active_risk: _active,
        ...weightsView
      } = createWeightsView({
        runId: header.run_id,
        requestedAsOf: asOf ?? null,
        weights: readPositiveWeights(columns, asOf ?? null),
        benchmark: null,
        findShares: () => null,
        risk: null,
        activeRisk: null,
      });
      return weightsView as Api.HeldWeights; // the rows have the form of the contract
    },
    closes() {
      const {
        held: _held,
        without_bar: _absent,
        rounded: _rounded,
        traded: _traded,
        ...closes
      } = createClosesView(columns);
      return closes;
    },
  };
}

export interface DefinitionsDependencies {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly pluginOf: (id: string) => StoredPluginCode | undefined;
}

/** Creates the store of definitions in memory, which validates them like the service. */
function createDefinitions({ market, calendars, pluginOf }: DefinitionsDependencies) {
  /** Documents by id, with the code of their plug-ins. */
  const documents = new Map<string, IndexDocument>();
  const findIndex = (id: string): IndexDocument | undefined => documents.get(id);

  function checkBody(body: object): {
    readonly document: IndexDocument | undefined;
    readonly findings: readonly Finding[];
  } {
    const { document, findings } = validateIndex(body as Readonly<Record<string, unknown>>, {
      calendars: calendars.list(),
      calendarOf: calendars.get,
      indexOf: findIndex,
      replaces: findIndex(String((body as { readonly id?: unknown }).id)),
      market,
    });
    if (document?.plugins === undefined) return { document, findings };
    const { document: filled, findings: wrong } = fillPlugins(document, pluginOf);
    if (wrong.length > 0) return { document: undefined, findings: sortFindings([...findings, ...wrong]) };
    const reportedTexts = new Set(findings.map(({ path, message }) => `${path} ${message}`));
    const marketFindings = checkOnMarket(filled, market, { severity: 'warning', indexOf: findIndex });
    return {
      document: filled,
      findings: sortFindings([
        ...findings,
        ...marketFindings.filter(({ path, message }) => !reportedTexts.has(`${path} ${message}`)),
      ]),
    };
  }

  function requireIndex(indexId: string): IndexDocument {
    const document = documents.get(indexId);
    if (document !== undefined) return document;
    throw new Refusal('INDEX_NOT_FOUND', `No index is defined under ${indexId}.`, { index_id: indexId });
  }

  function findReached(indexId: string): BacktestPlan['documents'] {
    const documentById = new Map<string, IndexDocument>();
    const addReached = (id: string): void => {
      if (documentById.has(id)) return;
      const document = requireIndex(id);
      documentById.set(id, document);
      listReferences(document).forEach(addReached);
    };
    addReached(indexId);
    return Object.fromEntries(documentById);
  }

  return {
    checked: checkBody,
    require: requireIndex,
    reached: findReached,
    define(body: object) {
      const { document, findings } = checkBody(body);
      if (document === undefined) throw refuseWithFindings('index document', findings);
      documents.set(document.id, document);
      return { index: removeComputedParts(document), findings };
    },
    /** Returns an index with everything that it refers to. Data that is missing in the market is an error. */
    onMarket(indexId: string): BacktestPlan['documents'] {
      const all = findReached(indexId);
      for (const document of Object.values(all))
        assertNoErrors('index document', checkOnMarket(document, market, { severity: 'error', indexOf: findIndex }));
      return all;
    },
    reachedBenchmark(id: string): BacktestPlan['documents'] {
      if (documents.has(id)) return findReached(id);
      throw new Refusal('BENCHMARK_NOT_FOUND', `The benchmark ${id} is not a defined index.`, { benchmark: id });
    },
    benchmarkOf(benchmark: BacktestRequest['benchmark']): BenchmarkRef | null | undefined {
      if (typeof benchmark !== 'string') return benchmark;
      const { kind, id } = parseBenchmark(benchmark);
      return { id, kind: kind ?? (documents.has(id) ? 'index' : 'identifier'), price_column: 'CLOSE' };
    },
    /** Returns the calendar, currency and treatment of an index. A derived index has the treatment of its source. */
    termsOf(indexId: string) {
      const { calendar, currency } = requireIndex(indexId);
      let document = requireIndex(indexId);
      // an index without rules names a source
      while (document.pipeline === null) document = requireIndex(listReferences(document)[0]!);
      return { calendar, currency, treatment: document.pipeline.treatment };
    },
  };
}

/** Id of a request's constraints, which take the place of a stored constraint set. */
const REQUEST_SET_ID = 'request';

export interface OptimiseDependencies {
  readonly market: MarketData;
  readonly engine: Engine;
  readonly models: Pick<EngineModels, 'measuring'>;
  /**
   * Returns the index with every index that it refers to, after checking the data. @throws Refusal INDEX_NOT_FOUND,
   * VALIDATION_FAILED
   */
  reached(indexId: string): Readonly<Record<string, IndexDocument>>;
  composerOf(documents: Readonly<Record<string, IndexDocument>>, until: Day): Composer;
}

/**
 * Optimises an index under the constraint rows of a request, like a run of the service. @throws Refusal for the same
 * reasons as that run
 */
function optimiseIndex(requestBody: object, dependencies: OptimiseDependencies): Api.Optimisation {
  const { market, engine, models, reached, composerOf } = dependencies;
  const { constraints: rows = [], ...rest } = requestBody as { readonly constraints?: unknown };
  const request = readOptimisationRequest({ ...rest, constraint_set_id: REQUEST_SET_ID });
  const { set, findings } = checkConstraintSet({ id: REQUEST_SET_ID, name: REQUEST_SET_ID, constraints: rows });
  if (set === undefined) throw refuseWithFindings('request', findings);
  const { constraints } = set;
  assertOrder(request);
  assertHasDates(market, request);
  const documents = reached(request.index_id);
  assertDecides(documents[request.index_id]!);
  assertNoErrors('request', [
    ...reportMissingReturns(request, constraints, ''),
    ...checkSpecFields(request, market, { path: '', severity: 'error' }),
    ...checkConstraintFields(constraints, market, { path: 'constraints', severity: 'error' }),
  ]);
  const modelId = readStoredModelId(request);
  const measuringModel = modelId === undefined ? null : models.measuring(modelId);
  const terms = readRequestTerms(request);
  const run = engine.scope(() =>
    runOptimisation({
      composer: composerOf(documents, terms.asOf ?? market.dates.at(-1)!),
      engine,
      ...terms,
      constraints,
      report: () => {},
    }),
  );
  const identity = { runId: REQUEST_SET_ID, indexId: request.index_id, constraintSetId: REQUEST_SET_ID };
  const {
    run_id: _run,
    constraint_set_id: _set,
    ...result
  } = toOptimisationResult(run, {
    ...identity,
    measuredBy: measuringModel,
    asked: request.risk_model,
  });
  return result as unknown as Api.Optimisation; // the contract declares this type
}

/** Reads plug-ins by id, as the service stores them. Loads the sandbox. @throws Refusal VALIDATION_FAILED */
async function readPlugins(
  inputs: NonNullable<Api.EngineOptions['plugins']>,
): Promise<ReadonlyMap<string, StoredPluginCode>> {
  const { loadPluginSandbox } = await import('#domain/datapoints/plugin-sandbox.js');
  await loadPluginSandbox();
  const findings: Finding[] = [];
  const plugins = new Map<string, StoredPluginCode>();
  for (const [id, body] of Object.entries(inputs)) {
    const { plugin, wrong } = readPlugin(body);
    findings.push(...wrong.map((finding) => ({ ...finding, path: `plugins.${id}.${finding.path}` })));
    if (plugin !== undefined) plugins.set(id, { plugin, sha256: computeSha256(toCanonicalJson(plugin)) });
  }
  if (findings.length > 0) throw refuseWithFindings('plug-ins', findings);
  return plugins;
}

const computeSha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function readPlugin(body: unknown): { readonly plugin?: PluginDocument; readonly wrong: readonly Finding[] } {
  const { value, findings } = checkShape(PluginUpsert, body);
  if (value === undefined) return { wrong: findings };
  const plugin = addPluginDefaults(value);
  const pluginFindings = checkPlugin(plugin);
  if (pluginFindings.length > 0) return { wrong: pluginFindings };
  try {
    requireSandbox().check(createProgram(resolvePluginCode(plugin, {}, '')));
    return { plugin, wrong: [] };
  } catch (error) {
    if (error instanceof SandboxError) return { wrong: [createSourceFinding(error.message)] };
    throw error;
  }
}

/** Creates the engine on one market. Definitions are stored in memory; everything else is computed on request. */
export async function createEngine(options: Api.EngineOptions): Promise<Api.Engine> {
  const { market, findings } = await readMarket(options.market);
  const datedMarkets = await readKnownMarkets(market, options);
  const plugins = options.plugins === undefined ? undefined : await readPlugins(options.plugins);
  const calendars = openCalendars();
  const engine = openWasmEngine();
  const definitions = createDefinitions({ market, calendars, pluginOf: (id) => plugins?.get(id) });
  const models = createModels({ market, calendars, engine, termsOf: createTerms });

  function createTerms(indexId: string): IndexTerms {
    const { calendar, currency, treatment } = definitions.termsOf(indexId);
    const listConstituents = (): readonly string[] =>
      runIndex(createPlan(indexId, {}))
        .weights()
        .weights.filter(({ identifier, weight }) => weight !== 0 && !isCashName(identifier))
        .map(({ identifier }) => identifier)
        .toSorted(compareText);
    return { calendar, currency, treatment, listHeldIdentifiers: listConstituents };
  }

  /**
   * Returns the documents of an index. Missing data and missing risk models are errors, because the index is about to
   * be computed.
   */
  function requireComputable(indexId: string): BacktestPlan['documents'] {
    const all = definitions.onMarket(indexId);
    assertNoErrors('index document', models.unknown(Object.values(all)));
    return all;
  }

  const getComposer = (all: BacktestPlan['documents'], until: Day): Composer =>
    createComposer({
      market,
      calendars,
      documents: all,
      models: models.stored,
      until,
      createDecider: createIndexDeciders(engine),
      tick: () => {},
    });

  function createPlan(indexId: string, requestBody: object): BacktestPlan {
    const { value: checkedRequest, findings: wrong } = checkShape(BacktestRequest, requestBody);
    if (checkedRequest === undefined) throw refuseWithFindings('request', wrong);
    const {
      if_stale: _stale,
      as_known_on: _known,
      ...terms
    } = removeVersions(checkedRequest, datedMarkets !== undefined);
    const document = definitions.require(indexId);
    const request = resolveRequest({ ...terms, benchmark: definitions.benchmarkOf(checkedRequest.benchmark) });
    assertOrder(request);
    assertForeign(document, request);
    const benchmark = request.benchmark?.kind === 'index' ? definitions.reachedBenchmark(request.benchmark.id) : {};
    const documents = { ...definitions.reached(indexId), ...benchmark };
    assertNoErrors('index document', models.unknown(Object.values(documents)));
    return { runId: indexId, name: document.name, indexId, documents, ...models.planned(documents), request };
  }

  const runScoped = <T>(work: () => T): T => engine.scope(work);
  const runIndex = (plan: BacktestPlan): Api.Backtest => {
    assertRunnable(plan, { market, calendars });
    return runScoped(() => runPlan({ market, calendars, plan, engine, models: models.stored, known: datedMarkets }));
  };
  return {
    version: readPackageVersion(),
    content_hash: market.contentHash,
    findings: toWire(findings),
    validate: (body) => toWire(definitions.checked(body).findings),
    define: (body) => toWire(definitions.define(body)),
    preview(indexId, asOf) {
      const all = requireComputable(indexId);
      const getComposerUntil = (until: Day): Composer => getComposer(all, until);
      const question = {
        market,
        calendars,
        documents: all,
        indexId,
        asOf: asOf ?? null,
        engine,
        composerUntil: getComposerUntil,
      };
      const answer = runScoped(() => answerPreview({ ...question, findObservedEnd: models.observedEndOf }));
      return toWire({ ...answer, index_version: null });
    },
    explain(indexId, identifier, asOf) {
      const all = requireComputable(indexId);
      const column = market.identifiers.indexOf(identifier);
      if (column < 0)
        throw new Refusal('IDENTIFIER_NOT_FOUND', `The market contains no identifier ${identifier}.`, { identifier });
      const day = asOf === undefined ? market.dates.at(-1)! : parseValidDay(asOf);
      const explanation = runScoped(() => explainWeight(getComposer(all, day), indexId, { column, asOf: day, engine }));
      const getWeightingType = (id: string): string => {
        const document = all[id]!;
        return isRuleDocument(document) ? document.pipeline.weighting.type : '';
      };
      const about = { indexId, identifier, requestedAsOf: asOf ?? null, weightingType: getWeightingType };
      return toWire(toIndexExplanation(explanation, about));
    },
    backtest: (indexId, request = {}) => runIndex(createPlan(indexId, request)),
    riskModel: (modelId, request) => models.estimate(modelId, request),
    importRiskModel: (modelId, body) => models.import(modelId, body),
    optimise: (request) =>
      optimiseIndex(request, { market, engine, models, reached: requireComputable, composerOf: getComposer }),
  };
}

/** Converts results to the client's types, which are generated from the same contract. */
const toWire = <T>(value: unknown): T => value as T;

type Terms = z.infer<typeof BacktestRequest>;

/**
 * Removes data versions from a request. A market without earlier contents has no versions. @throws Refusal
 * VALIDATION_FAILED if the request names a version
 */
function removeVersions(requestTerms: Terms, hasEarlier: boolean): Terms {
  const versionTerms = {
    as_known: hasEarlier ? undefined : requestTerms.as_known,
    as_known_on: requestTerms.as_known_on,
    if_stale: requestTerms.if_stale || undefined,
  };
  const findings = Object.entries(versionTerms).flatMap(([path, value]): Finding[] => {
    const message =
      path === 'as_known'
        ? 'as_known needs the earlier contents of the market: open the engine with known_on and earlier.'
        : `${path} needs a service, which keeps versions and runs.`;
    return value === undefined ? [] : [{ severity: 'error', code: 'NO_EFFECT', path, message }];
  });
  if (findings.length > 0) throw refuseWithFindings('request', sortFindings(findings));
  return requestTerms;
}
