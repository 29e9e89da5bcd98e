import { checkOnMarket } from '#domain/checks/index-on-market.js';
import { fillPlugins, type StoredPluginCode, removeComputedParts } from '#domain/checks/fill-plugins.js';
import { validateIndex } from '#domain/checks/validate-index.js';
import { listReferences } from '#domain/checks/validate-reference.js';
import type { BacktestRequest } from '#contract/analytics/request.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { parseBenchmark, type BenchmarkRef } from '#domain/documents/benchmark-ref.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { sortFindings, type Finding } from '#domain/refusals/findings.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';

export interface DefinitionsDependencies {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly pluginOf: (id: string) => StoredPluginCode | undefined;
}

/** Creates the store of definitions in memory, which validates them like the service. */
export function createDefinitions({ market, calendars, pluginOf }: DefinitionsDependencies) {
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
