import type { z } from 'zod';
import { assertRunnable } from '#domain/backtest/assert-runnable.js';
import { createIndexDeciders } from '#domain/backtest/index-decider.js';
import { assertForeign, resolveRequest } from '#domain/backtest/resolve-request.js';
import type { Composer } from '#domain/books/compositions.js';
import { createComposer } from '#domain/books/create-composer.js';
import { BacktestRequest } from '#contract/analytics/request.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { isRuleDocument } from '#domain/documents/index-document.js';
import { explainWeight } from '#domain/optimisation/explain.js';
import { compareText, sortFindings, type Finding } from '#domain/refusals/findings.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { assertOrder } from '#domain/schema/assert-order.js';
import { checkShape } from '#domain/schema/shape.js';
import { parseValidDay, type Day } from '#domain/time/days.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { answerPreview } from '#views/preview-answer.js';
import { toIndexExplanation } from '#views/preview.js';
import type * as Api from './api.js';
import { runPlan } from './backtest.js';
import { createDefinitions } from './definitions.js';
import { readKnownMarkets } from './known-markets.js';
import { readMarket } from './market-input.js';
import { optimiseIndex } from './optimise.js';
import { readPlugins } from './plugins.js';
import { createModels, type IndexTerms } from './risk-models.js';
import { readPackageVersion } from './version.js';

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
        .weights.filter(({ weight }) => weight !== 0)
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
