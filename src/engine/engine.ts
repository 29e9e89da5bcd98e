import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { toDecodable } from '#base/bytes.js';
import { allocateRetainedMemory } from '#base/memory.js';
import { requireSandbox, SandboxError } from '#base/sandbox/sandbox.js';
import { PluginUpsert } from '#contract/plugins.js';
import { BacktestRequest } from '#contract/run.js';
import { assertForeign, assertRunnable, resolveRequest } from '#domain/backtest/plan.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { createRunFiles, openColumns, openRecordParts, type RunFiles } from '#domain/backtest/run-file/columns.js';
import { assertMeasured } from '#domain/backtest/summary.js';
import { compareText, type Finding, sortFindings } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { assertHasDates, assertOrder, checkShape, isAssetIdentifier } from '#domain/base/schema.js';
import { type Day, formatDay, parseDay, parseValidDay } from '#domain/base/time.js';
import { createComposer, type DatedMarkets } from '#domain/books/composer.js';
import type { Composer } from '#domain/books/compositions.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import {
  type BacktestPlan,
  listUsedModels,
  type PlannedModel,
  readStoredModelId,
  toPlannedModel,
} from '#domain/definition/backtest-plan.js';
import { checkConstraintSet } from '#domain/definition/constraint-sets.js';
import { fillPlugins, removeComputedParts, type StoredPluginCode } from '#domain/definition/document-expressions.js';
import { checkConstraintFields, checkSpecFields } from '#domain/definition/field-uses.js';
import { type IndexDocument, isRuleDocument, type TreatmentSpec } from '#domain/definition/index-document.js';
import { assertDecides, checkOnMarket, validateIndex } from '#domain/definition/index-validation.js';
import { readOptimisationRequest } from '#domain/definition/optimisation-requests.js';
import { reportMissingReturns } from '#domain/definition/optimisation.js';
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
import { packModel } from '#domain/risk/imported-models.js';
import { readModelBody } from '#domain/risk/model-tables.js';
import {
  listSettingsRead,
  type RiskMeasureModel,
  RiskModelRequest,
  toServedDiagnostics,
} from '#domain/risk/risk-models.js';
import {
  computeVolatilities,
  openPackedMatrix,
  openStoredModel,
  packUpper,
  type StoredModel,
  type StoredModels,
  unpackRow,
} from '#domain/risk/stored-models.js';
import type { Engine } from '#kernels/engines/engine.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { digestContent } from '#market/content/content-hash.js';
import { type MarketContent, refuseSize } from '#market/content/market-content.js';
import { computeContentChange, createDatedMarkets } from '#market/content/versions.js';
import { warnOfMarket } from '#market/judge/market-warnings.js';
import { completeMappedContent } from '#market/mapping/mapped-content.js';
import { createZeroPanel, type Panels, removeEmptyLines } from '#market/panels/panels.js';
import { createContentRows, type SplitFrame, readFrames } from '#market/read/content-rows.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import {
  createProblems,
  describeBadIdentifier,
  formatNonPositivePrice,
  type Problems,
} from '#market/tables/problems.js';
import { COUNT_COLUMNS, nameFileColumns, PRICE_COLUMNS } from '#market/tables/table-kinds.js';
import { createClosesView } from '#views/closes.js';
import { createIndexLevels } from '#views/levels.js';
import { toOptimisationResult } from '#views/optimisation.js';
import { answerPreview, toIndexExplanation } from '#views/preview.js';
import { type EstimateUniverse, prepareEstimate } from '#views/risk-estimate.js';
import { createWeightsView, readPositiveWeights } from '#views/weights.js';
import type * as Api from './api.js';
import { readPackageVersion } from './version.js';

/**
 * Converts dates to days. If a date does not exist or the dates do not ascend, reports a finding and returns undefined.
 */
function parseDays(dates: readonly string[] | Int32Array, problems: Problems): Int32Array | undefined {
  const days = new Int32Array(dates.length);
  for (let t = 0; t < days.length; t++) {
    const date = dates[t]!;
    const day: Day | undefined = typeof date === 'number' ? date : parseDay(String(date));
    if (day === undefined) {
      const message = `${JSON.stringify(date)} is not a day that exists, YYYY-MM-DD.`;
      problems.error({ code: 'BAD_DATE', path: `prices.dates[${t}]`, message, value: date });
      return undefined;
    }
    days[t] = day;
    if (t === 0 || day > days[t - 1]!) continue;
    const message = `The date ${date} is not after ${dates[t - 1]!}. Dates must be unique and ascending.`;
    problems.error({ code: 'INVALID_RANGE', path: `prices.dates[${t}]`, message, value: date });
    return undefined;
  }
  return days;
}

/**
 * Converts dense arrays to panels with the axes of a market. If the arrays are invalid, reports findings and returns
 * undefined.
 */
function createDensePanels({ dates, identifiers, fields }: Api.PriceArrays, problems: Problems): Panels | undefined {
  const days = parseDays(dates, problems);
  const fieldNames = Object.keys(fields);
  const names = nameFileColumns('market', 'prices', ['identifier', 'date', ...fieldNames], problems)?.slice(2);
  checkIdentifiers(identifiers, problems);
  const shape = { dates: dates.length, identifiers: identifiers.length, fields: fieldNames.length };
  for (const name of fieldNames) checkLength(name, fields[name]!, shape, problems);
  if (days === undefined || names === undefined || problems.errors > 0 || refuseSize(shape, problems)) return undefined;
  const order = identifiers.map((_, n) => n).toSorted((a, b) => compareText(identifiers[a]!, identifiers[b]!));
  const sortedIdentifiers = order.map((n) => identifiers[n]!);
  const panels = names.map((name, f): [string, Float64Array] => {
    const cells = { name, written: fieldNames[f]!, days, identifiers, order };
    return [name, createPanel(fields[fieldNames[f]!]!, cells, problems)];
  });
  if (problems.errors > 0) return undefined;
  return removeEmptyLines({ identifiers: sortedIdentifiers, dates: days, fields: new Map(panels) });
}

function checkIdentifiers(identifiers: readonly string[], problems: Problems): void {
  const seenIdentifiers = new Set<string>();
  for (const [n, identifier] of identifiers.entries()) {
    const path = `prices.identifiers[${n}]`;
    if (typeof identifier !== 'string' || !isAssetIdentifier(identifier))
      problems.error(describeBadIdentifier(path, String(identifier)));
    else if (seenIdentifiers.has(identifier))
      problems.error({ code: 'DUPLICATE_KEY', path, message: `The identifier ${identifier} occurs twice.` });
    seenIdentifiers.add(identifier);
  }
}

function checkLength(
  name: string,
  values: Float64Array,
  { dates, identifiers }: { readonly dates: number; readonly identifiers: number },
  problems: Problems,
): void {
  const path = `prices.fields.${name}`;
  if (!(values instanceof Float64Array))
    problems.error({ code: 'WRONG_TYPE', path, message: `${name} is not a Float64Array.` });
  else if (values.length !== dates * identifiers)
    problems.error({
      code: 'OUT_OF_RANGE',
      path,
      message: `${name} has ${values.length} values; ${dates} dates of ${identifiers} identifiers have ${dates * identifiers}.`,
    });
}

interface Cells {
  readonly name: string;
  readonly written: string;
  readonly days: Int32Array;
  readonly identifiers: readonly string[];
  /** Position of each column in the input. */
  readonly order: readonly number[];
}

/** Returns one field in the order of the identifiers. Reports invalid values. */
function createPanel(values: Float64Array, cells: Cells, problems: Problems): Float64Array {
  const { name, order, days } = cells;
  const width = order.length;
  const panel = createZeroPanel(values.length);
  const isPrice = PRICE_COLUMNS.has(name);
  const isSigned = !isPrice && !COUNT_COLUMNS.has(name);
  for (let t = 0; t < days.length; t++)
    for (let n = 0; n < width; n++) {
      const value = values[t * width + order[n]!]!;
      panel[t * width + n] = value + 0; // + 0 turns a negative zero into 0
      const isAccepted = value > 0 || value !== value || isSigned || (value === 0 && !isPrice);
      if (!isAccepted || value === Infinity || value === -Infinity) refuseCell({ ...cells, t, n, value }, problems);
    }
  return panel;
}

function refuseCell(
  { name, written, days, identifiers, order, t, n, value }: Cells & Readonly<Record<'t' | 'n' | 'value', number>>,
  problems: Problems,
): void {
  const location = `${identifiers[order[n]!]!} on ${formatDay(days[t]!)}`;
  const path = `prices.fields.${written}[${t * order.length + order[n]!}]`;
  const column = `prices.fields.${written}`;
  if (!Number.isFinite(value))
    problems.error({
      code: 'NOT_A_NUMBER',
      path,
      column,
      message: `${name} of ${location} is not finite; NaN is no value.`,
    });
  else if (PRICE_COLUMNS.has(name))
    problems.error({
      code: 'NON_POSITIVE_PRICE',
      path,
      column,
      value,
      message: `${location}: ${formatNonPositivePrice(name, value)}`,
    });
  else
    problems.error({
      code: 'OUT_OF_RANGE',
      path,
      column,
      value,
      message: `${location}: ${name} is ${value}; at least 0 is needed.`,
    });
}

/** Name of the market in results; an engine has only one market. */
const DATASET_ID = 'market';

/** Market with the warnings about it. */
export interface ReadMarket {
  readonly market: MarketData;
  readonly findings: readonly Finding[];
}

/** Tables other than the prices, by their names in the service. */
const TABLES = ['reference', 'corporate_actions', 'universes', 'series'] as const;

/** Reads a market by the rules of a service import. @throws Refusal VALIDATION_FAILED */
async function readMarket(input: Api.MarketInput): Promise<ReadMarket> {
  const problems = createProblems();
  const content = await readContent(input, problems);
  if (content === undefined || problems.errors > 0) throw refuseWithFindings('market', problems.findings());
  const { adjustment = 'none', currency = null } = input;
  warnOfMarket(content, adjustment, problems);
  const { hash: contentHash } = await digestContent(content);
  return {
    market: { ...content, datasetId: DATASET_ID, contentHash, adjustment, currency },
    findings: problems.findings(),
  };
}

async function readContent(input: Api.MarketInput, problems: Problems): Promise<MarketContent | undefined> {
  const { prices, adjustment = 'none' } = input;
  const terms = { mapping: null, adjustment };
  const rows = createContentRows(problems, terms);
  const frames = createFrames(input);
  const beginTable: Parameters<typeof readFrames>[3] = (table, name, columns) =>
    rows.beginCells(table, table, columns, { name });
  if (prices instanceof Uint8Array) {
    const { readArrowPrices } = await import('./arrow-prices.js');
    const hasRows = readArrowPrices(toDecodable(prices), rows, problems);
    readTables(frames, problems, beginTable);
    return hasRows ? rows.toContent()?.content : undefined;
  }
  if ('data' in prices) {
    readFrames({ market: prices, ...frames }, null, problems, beginTable);
    return rows.toContent()?.content;
  }
  readTables(frames, problems, beginTable);
  const panels = createDensePanels(prices, problems);
  const contentTables = rows.toTables();
  return panels && completeMappedContent(panels, contentTables, terms, problems)?.content;
}

function createFrames(input: Api.MarketInput): Record<string, SplitFrame> {
  return Object.fromEntries(TABLES.flatMap((name) => (input[name] === undefined ? [] : [[name, input[name]]])));
}

/** Reads all tables except the market table. */
function readTables(
  frames: Readonly<Record<string, SplitFrame>>,
  problems: Problems,
  beginTable: Parameters<typeof readFrames>[3],
): void {
  const emptyFrame: SplitFrame = { columns: ['identifier', 'date', 'CLOSE'], data: [] };
  readFrames({ market: emptyFrame, ...frames }, null, problems, (table, name, columns) =>
    table === 'market' ? undefined : beginTable(table, name, columns),
  );
}

/**
 * Reads the contents of the market known at each decision. Returns undefined without earlier contents. @throws Refusal
 * VALIDATION_FAILED
 */
async function readKnownMarkets(
  last: MarketData,
  { known_on: knownOn, earlier }: Pick<Api.EngineOptions, 'known_on' | 'earlier'>,
): Promise<DatedMarkets | undefined> {
  if (earlier === undefined && knownOn === undefined) return undefined;
  const days = [...(earlier ?? []).map(({ known_on: on }) => on), knownOn];
  const findings: Finding[] = days.flatMap((text, i): Finding[] => {
    const path = i === days.length - 1 ? 'known_on' : `earlier[${i}].known_on`;
    const day = text === undefined ? undefined : parseDay(text);
    if (day === undefined)
      return [{ severity: 'error', code: 'BAD_DATE', path, message: `${path} is not a day YYYY-MM-DD.` }];
    const before = i === 0 ? undefined : parseDay(days[i - 1] ?? '');
    if (before === undefined || before < day) return [];
    return [{ severity: 'error', code: 'INVALID_RANGE', path, message: `${path} is not after the previous date.` }];
  });
  if (findings.length > 0) throw refuseWithFindings('market', findings);
  const contents: { readonly knownOn: Day; readonly market: MarketData }[] = [];
  for (const { known_on: on, market } of earlier ?? [])
    contents.push({ knownOn: parseDay(on)!, market: (await readMarket(market)).market });
  const after = [...contents.slice(1).map(({ market }) => market), last];
  const changes = contents.map(({ knownOn: on, market }, i) => ({
    knownOn: i === 0 ? BEFORE_HISTORY : on,
    change: computeContentChange(market, after[i]!),
  }));
  const lastKnown = contents.length === 0 ? BEFORE_HISTORY : parseDay(knownOn!)!;
  return createDatedMarkets(last, { knownOn: lastKnown, earlier: changes.toReversed() });
}

/** The first content counts as known from the beginning, like that of a data store. */
const BEFORE_HISTORY: Day = -(2 ** 31);

/** Terms of an index that risk estimates use. */
interface IndexTerms {
  readonly calendar: string;
  readonly currency: string;
  readonly treatment: TreatmentSpec;
  /** Returns the securities held on the last date of its run. */
  readonly listHeldIdentifiers: () => readonly string[];
}

interface LoadedModel {
  readonly planned: PlannedModel;
  readonly stored: StoredModel;
  readonly measuring: RiskMeasureModel;
}

/** Risk models that definitions and optimisations name by id. */
interface EngineModels {
  estimate(modelId: string, request: object): Api.RiskModel;
  import(modelId: string, body: object): Api.RiskModel;
  readonly stored: StoredModels;
  /** Returns errors for definitions that name a missing model. */
  unknown(documents: Iterable<IndexDocument>): Finding[];
  /** Returns the models that documents use, in the form of a plan. */
  planned(documents: BacktestPlan['documents']): Pick<BacktestPlan, 'models'>;
  /** Returns a model with the window of its returns. @throws Refusal RISK_MODEL_NOT_FOUND */
  measuring(modelId: string): RiskMeasureModel;
  observedEndOf(modelId: string): string | undefined;
}

interface ModelsDependencies {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly engine: Engine;
  /** Returns the terms of an index. @throws Refusal INDEX_NOT_FOUND */
  termsOf(indexId: string): IndexTerms;
}

function createModels({ market, calendars, engine, termsOf }: ModelsDependencies): EngineModels {
  const models = new Map<string, LoadedModel>();

  function requireModel(modelId: string): LoadedModel {
    const model = models.get(modelId);
    if (model !== undefined) return model;
    const message = `No risk model ${modelId} was estimated or imported.`;
    throw new Refusal('RISK_MODEL_NOT_FOUND', message, { model_id: modelId });
  }

  function getUniverse(request: RiskModelRequest): EstimateUniverse {
    const identifiers = [...new Set(request.identifiers)].toSorted(compareText);
    if (identifiers.length > 0) return { kind: 'names', identifiers };
    if (request.index_id !== null) return { kind: 'run', ...termsOf(request.index_id) };
    throw new Refusal('UNIVERSE_REQUIRED', 'A risk model needs identifiers or an index_id.');
  }

  return {
    estimate(modelId, requestBody) {
      const { value: request, findings } = checkShape(RiskModelRequest, requestBody);
      if (request === undefined) throw refuseWithFindings('request', findings);
      assertOrder(request);
      assertHasDates(market, { start: request.start, end: request.end });
      const estimate = prepareEstimate({ market, calendars, universe: getUniverse(request), request });
      const {
        covariance,
        factors: _,
        ...model
      } = engine.scope(() => {
        const result = estimate.whole(engine);
        return { ...result, covariance: packUpper(result.covariance, result.assetIds.length) };
      });
      const { assetIds: names, observedEnd, observedStart, diagnostics } = model;
      const storedModel = openStoredModel(modelId, {
        names,
        observedEnd,
        matrix: () => openPackedMatrix(covariance, names.length),
        numbers: () => covariance,
      });
      models.set(modelId, {
        planned: { asset_ids: names, observed_end: observedEnd, covariance: computeSha256(covariance) },
        stored: storedModel,
        measuring: {
          modelId,
          estimator: request.estimator,
          settings: listSettingsRead(request),
          start: observedStart,
          end: observedEnd,
          sessions: diagnostics.observations,
        },
      });
      return {
        ...toApi(modelId, storedModel),
        diagnostics: toServedDiagnostics(diagnostics),
        ...(model.factorModel === null ? {} : { factor_model: model.factorModel }),
        excluded: model.excluded,
        observed_start: observedStart,
        observed_end: observedEnd,
        findings: [],
      };
    },
    import(modelId, body) {
      const problems = createProblems();
      const parsedModel = readModelBody(body, problems);
      const packedModel =
        parsedModel && problems.errors === 0 ? engine.scope(() => packModel(engine, parsedModel, problems)) : undefined;
      if (packedModel === undefined || problems.errors > 0) throw refuseWithFindings('risk model', problems.findings());
      const { assetIds: names, dates, covariance } = packedModel;
      const [first, last] = [dates[0]!.date, dates.at(-1)!.date]; // a model has at least one date
      const content = { names, observedEnd: last, dates, numbers: () => covariance };
      const storedModel = openStoredModel(modelId, {
        ...content,
        matrix: () => openPackedMatrix(covariance, names.length),
      });
      const importedModel = { ...packedModel.terms, dates: [...dates] };
      models.set(modelId, {
        planned: toPlannedModel({
          asset_ids: [...names],
          observed_end: last,
          covariance: { name: '', bytes: covariance.byteLength, sha256: computeSha256(covariance) },
          imported: importedModel,
        } as unknown as Parameters<typeof toPlannedModel>[0]), // toPlannedModel reads only these members
        stored: storedModel,
        measuring: { modelId, estimator: 'imported', settings: {}, start: first, end: last, sessions: 0 },
      });
      return {
        ...toApi(modelId, storedModel),
        diagnostics: {
          assets: storedModel.names.length,
          observations: 0,
          average_correlation: packedModel.newest.averageCorrelation,
          condition_number: packedModel.newest.conditionNumber,
          intensity: 0,
          positive_semi_definite: true,
          repaired: dates.at(-1)!.repaired,
          smallest_eigenvalue: packedModel.newest.smallestEigenvalue,
          target: 'none',
        },
        excluded: {},
        observed_start: first,
        observed_end: last,
        findings: problems.findings() as Api.RiskModel['findings'], // The contract declares the same findings.
      };
    },
    stored: (modelId) => requireModel(modelId).stored,
    unknown: (documents) =>
      [...listUsedModels(documents)].flatMap(([modelId, { indexId, path }]): Finding[] => {
        if (models.has(modelId)) return [];
        const message = `The index ${indexId} is measured by the risk model ${modelId}, which was not estimated or imported.`;
        return [{ severity: 'error', code: 'RISK_MODEL_NOT_FOUND', path, message, value: modelId }];
      }),
    planned(documents) {
      const usedModelIds = [...listUsedModels(Object.values(documents)).keys()];
      if (usedModelIds.length === 0) return {};
      return { models: Object.fromEntries(usedModelIds.map((modelId) => [modelId, requireModel(modelId).planned])) };
    },
    measuring: (modelId) => requireModel(modelId).measuring,
    observedEndOf: (modelId) => models.get(modelId)?.planned.observed_end,
  };
}

const computeSha256 = ({ buffer, byteOffset, byteLength }: Float64Array): string =>
  createHash('sha256')
    .update(new Uint8Array(buffer, byteOffset, byteLength))
    .digest('hex');

/** Returns the id, the securities, the newest covariance as a dense matrix, and the volatilities of a model. */
function toApi(modelId: string, { names, covariance }: StoredModel) {
  const packedCovariance = covariance();
  const n = names.length;
  const matrix = new Float64Array(n * n);
  for (let i = 0; i < n; i++) unpackRow(packedCovariance, i, matrix.subarray(i * n, (i + 1) * n));
  return {
    model_id: modelId,
    asset_ids: names,
    covariance: matrix,
    volatilities: computeVolatilities(packedCovariance),
  };
}

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

/** Creates the store of definitions in memory, which validates them like the service. */
function createDefinitions(
  market: MarketData,
  calendars: Calendars,
  pluginOf: (id: string) => StoredPluginCode | undefined,
) {
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

export interface EngineOptimiser {
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
function optimiseIndex(requestBody: object, dependencies: EngineOptimiser): Api.Optimisation {
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
    if (plugin !== undefined) plugins.set(id, { plugin, sha256: computeSha256OfEngine(toCanonicalJson(plugin)) });
  }
  if (findings.length > 0) throw refuseWithFindings('plug-ins', findings);
  return plugins;
}

const computeSha256OfEngine = (text: string): string => createHash('sha256').update(text).digest('hex');

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
  const definitions = createDefinitions(market, calendars, (id) => plugins?.get(id));
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
