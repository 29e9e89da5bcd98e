import type { z } from 'zod';
import { assertRunnable } from '#domain/backtest/assert-runnable.js';
import { indexDeciders } from '#domain/backtest/index-decider.js';
import { assertForeign, resolvedRequest } from '#domain/backtest/resolved-request.js';
import type { Composer } from '#domain/books/compositions.js';
import { createComposer } from '#domain/books/create-composer.js';
import { validateIndex } from '#domain/checks/validate-index.js';
import { marketFindings } from '#domain/checks/index-on-market.js';
import { referencesOf } from '#domain/checks/validate-reference.js';
import { BacktestRequest } from '#contract/analytics/request.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { benchmarkNamed, type BenchmarkRef } from '#domain/documents/benchmark-ref.js';
import { isRuleDocument, type IndexDocument } from '#domain/documents/index-document.js';
import { explainWeight } from '#domain/optimisation/explain.js';
import { orderFindings, type Finding } from '#domain/refusals/findings.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { assertOrder } from '#domain/schema/assert-order.js';
import { checkShape } from '#domain/schema/shape.js';
import { dayFrom, type Day } from '#domain/time/days.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { previewAnswer } from '#views/preview-answer.js';
import { toIndexExplanation } from '#views/preview.js';
import type * as Api from './api.js';
import { runPlan } from './backtest.js';
import { readMarket } from './market-input.js';
import { packageVersion } from './version.js';

/** The engine on one market: definitions in memory, everything else computed when it is asked for. */
export async function createEngine({ market: input }: Api.EngineOptions): Promise<Api.Engine> {
  const { market, findings } = await readMarket(input);
  const calendars = openCalendars();
  const engine = wasmEngine();
  const documents = new Map<string, IndexDocument>();
  const indexOf = (id: string): IndexDocument | undefined => documents.get(id);

  const checked = (body: object) =>
    validateIndex(body as Readonly<Record<string, unknown>>, {
      calendars: calendars.list(),
      calendarOf: calendars.get,
      indexOf,
      replaces: indexOf(String((body as { readonly id?: unknown }).id)),
      market,
    });

  function require(indexId: string): IndexDocument {
    const document = documents.get(indexId);
    if (document === undefined)
      throw new Refusal('INDEX_NOT_FOUND', `No index is defined under ${indexId}.`, { index_id: indexId });
    return document;
  }

  function reached(indexId: string): Record<string, IndexDocument> {
    const found = new Map<string, IndexDocument>();
    const reach = (id: string): void => {
      if (found.has(id)) return;
      const document = require(id);
      found.set(id, document);
      referencesOf(document).forEach(reach);
    };
    reach(indexId);
    return Object.fromEntries(found);
  }

  /** Data that the market lacks for an index is an error once it is computed. */
  function onMarket(indexId: string): Readonly<Record<string, IndexDocument>> {
    const all = reached(indexId);
    for (const document of Object.values(all))
      assertNoErrors('index document', marketFindings(document, market, { severity: 'error', indexOf }));
    return all;
  }

  const composerOf = (all: BacktestPlan['documents'], until: Day): Composer =>
    createComposer({
      market,
      calendars,
      documents: all,
      models: noModels,
      until,
      createDecider: indexDeciders(engine),
      tick: () => {},
    });

  function planOf(indexId: string, asked: object): BacktestPlan {
    const { value: given, findings: wrong } = checkShape(BacktestRequest, asked);
    if (given === undefined) throw refuseWithFindings('request', wrong);
    const { if_stale: _stale, as_known_on: _known, ...terms } = withoutVersions(given);
    const document = require(indexId);
    const request = resolvedRequest({ ...terms, benchmark: benchmarkOf(given.benchmark, documents) });
    assertOrder(request);
    assertForeign(document, request);
    const benchmark = request.benchmark?.kind === 'index' ? reachedBenchmark(request.benchmark.id) : {};
    return { runId: indexId, name: document.name, indexId, documents: { ...reached(indexId), ...benchmark }, request };
  }

  function reachedBenchmark(id: string): Record<string, IndexDocument> {
    if (documents.has(id)) return reached(id);
    throw new Refusal('BENCHMARK_NOT_FOUND', `The benchmark ${id} is not a defined index.`, { benchmark: id });
  }

  const scoped = <T>(work: () => T): T => engine.scope(work);
  return {
    version: packageVersion(),
    content_hash: market.contentHash,
    findings: wire(findings),
    validate: (body) => wire(checked(body).findings),
    define(body) {
      const { document, findings: found } = checked(body);
      if (document === undefined) throw refuseWithFindings('index document', found);
      documents.set(document.id, document);
      return { index: wire(document), findings: wire(found) };
    },
    preview(indexId, asOf) {
      const all = onMarket(indexId);
      const composerUntil = (until: Day): Composer => composerOf(all, until);
      const question = { market, calendars, documents: all, indexId, asOf: asOf ?? null, engine, composerUntil };
      const answer = scoped(() => previewAnswer({ ...question, observedEndOf: () => undefined }));
      return wire({ ...answer, index_version: null });
    },
    explain(indexId, identifier, asOf) {
      const all = onMarket(indexId);
      const column = market.identifiers.indexOf(identifier);
      if (column < 0)
        throw new Refusal('IDENTIFIER_NOT_FOUND', `The market holds no identifier ${identifier}.`, { identifier });
      const day = asOf === undefined ? market.dates.at(-1)! : dayFrom(asOf);
      const explanation = scoped(() => explainWeight(composerOf(all, day), indexId, { column, asOf: day, engine }));
      const weightingType = (id: string): string => {
        const document = all[id]!;
        return isRuleDocument(document) ? document.pipeline.weighting.type : '';
      };
      const about = { indexId, identifier, requestedAsOf: asOf ?? null, weightingType };
      return wire(toIndexExplanation(explanation, about));
    },
    backtest(indexId, request = {}) {
      const plan = planOf(indexId, request);
      assertRunnable(plan, { market, calendars });
      return scoped(() => runPlan({ market, calendars, plan, engine }));
    },
  };
}

/** Results as the client's types have them, which are written from the same contract. */
const wire = <T>(value: unknown): T => value as T;

function noModels(modelId: string): never {
  throw new Refusal(
    'RISK_MODEL_NOT_FOUND',
    `The engine has no stored risk model ${modelId}; name an estimator instead.`,
    {
      model_id: modelId,
    },
  );
}

type Terms = z.infer<typeof BacktestRequest>;

/** One market has no earlier versions. @throws Refusal VALIDATION_FAILED where one is asked for */
function withoutVersions(given: Terms): Terms {
  const named = { as_known: given.as_known, as_known_on: given.as_known_on, if_stale: given.if_stale || undefined };
  const findings = Object.entries(named).flatMap(([path, value]): Finding[] => {
    const message = `${path} needs a service, which keeps versions and runs.`;
    return value === undefined ? [] : [{ severity: 'error', code: 'NO_EFFECT', path, message }];
  });
  if (findings.length > 0) throw refuseWithFindings('request', orderFindings(findings));
  return given;
}

function benchmarkOf(
  given: Terms['benchmark'],
  documents: ReadonlyMap<string, IndexDocument>,
): BenchmarkRef | null | undefined {
  if (typeof given !== 'string') return given;
  const { kind, id } = benchmarkNamed(given);
  return { id, kind: kind ?? (documents.has(id) ? 'index' : 'identifier'), price_column: 'CLOSE' };
}
