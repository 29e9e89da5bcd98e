import { isKnownAtDecisions } from '#domain/datapoints/functions.js';
import type { z } from 'zod';
import type { DatapointEvaluation, DatapointRequest, Methodology } from '#contract/indices/definitions.js';
import type { LevelSketchPayload } from '#contract/indices/previews.js';
import { type Finding, hasErrors, reportFindings } from '#domain/base/findings.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { type AsKnownOn, checkShape } from '#domain/base/schema.js';
import { formatDay } from '#domain/base/time.js';
import {
  checkTree,
  Condition,
  createUnitReader,
  type Definitions,
  listCalls,
  NumberExpression,
  type ParsedText,
  readExpression,
} from '#domain/datapoints/expression-checks.js';
import { addText } from '#domain/datapoints/expression-text.js';
import { type ExpressionNode, formatUnit, useCondition, useNumber } from '#domain/datapoints/expression-tree.js';
import { DocumentQuestion, mergePatch, PlainQuestion, WhatIfQuestion } from '#domain/definition/amendments.js';
import { locateInTexts } from '#domain/definition/document-expressions.js';
import { checkFields } from '#domain/definition/field-uses.js';
import { type IndexDocument, readDefinitions } from '#domain/definition/index-document.js';
import type { IndexSchedule } from '#domain/definition/index-schedule.js';
import { assertDecides, checkOnMarket, listAssumptions, validateIndex } from '#domain/definition/index-validation.js';
import { listMethodologySentences } from '#domain/definition/methodology.js';
import { checkReference, findStore, listCalledIndices } from '#domain/definition/references.js';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { ExportFormat } from '#domain/outputs/exports.js';
import type { RebalancePackRequest } from '#domain/studies/rebalance-pack.js';
import type { LevelSketch as ComputedSketch, ModelFiles } from '#jobs/tasks/indices.js';
import { getCallMarket } from '#market/serve/served-markets.js';
import { findVersionByEtag, readHead } from '#store/history/history.js';
import type { Context } from '../shared/context.js';
import { resolveModelFiles } from '../shared/model-documents.js';
import { readRunDefinition, requireRun } from '../shared/run-documents.js';
import { prependHead } from '../shared/stamped-json.js';
import { readAdjustment } from '../shared/store-documents.js';
import { DEFAULT_CALENDAR } from './calendars.js';
import {
  addStoredParts,
  createStoredIndices,
  fillStoredPlugins,
  requireIndex,
  resolveReached,
  runOnStoreOf,
} from './documents.js';

/** Id of the temporary definition that is created to evaluate an expression. */
const TERMS = 'TERMS-OF-AN-EXPRESSION';

/** Maximum number of values in a response. */
const VALUES_MAX = 3;

/** Evaluation and explanation of expressions. */
export function createDatapointQuestions({ documents, jobs, markets, stores, calendars }: Context) {
  async function readTerms(request: DatapointRequest, market: MarketData | undefined) {
    const { universe, datapoints, plugins, currency, calendar = DEFAULT_CALENDAR } = request;
    const body = {
      id: TERMS,
      name: 'Terms of an expression',
      calendar,
      base_date: formatDay(market?.dates[0] ?? 0),
      currency,
      ...(universe === undefined ? {} : { universe }),
      ...(datapoints === undefined ? {} : { datapoints }),
      ...(plugins === undefined ? {} : { plugins }),
      pipeline: { weighting: WEIGHTING_CLASSES[0]!.example },
    };
    const { document, findings } = await createStoredIndices(documents).answer((lookUpIndex) =>
      validateIndex(body, { calendars: calendars.list(), calendarOf: calendars.get, indexOf: lookUpIndex, market }),
    );
    const filledDocument = document === undefined ? undefined : await fillStoredPlugins(documents, document);
    const read = readDatapointQuery(
      request,
      filledDocument === undefined ? new Map() : readDefinitions(filledDocument.document),
      market,
    );
    const calledIndices = listCalledIndices(read.tree, 'expression');
    const references = await createStoredIndices(documents).answer((lookUpIndex) =>
      calledIndices.flatMap(({ id }) => checkReference(id, TERMS, 'expression', lookUpIndex)),
    );
    const partFindings = [...findings.filter(isOfRequest), ...(filledDocument?.findings ?? [])];
    return { document, read, findings: [...partFindings, ...read.findings, ...references] };
  }

  /**
   * Evaluates an expression. @throws Refusal FX_MISSING, OVERLOADED, and the refusals of a run of the universe's index
   */
  async function evaluate(request: DatapointRequest, signal: AbortSignal): Promise<DatapointEvaluation> {
    const servedMarket = markets.current();
    const { document, read, findings } = await readTerms(request, servedMarket?.market);
    const { tree, unit } = read;
    const isValid = !hasErrors(findings);
    const unknownFindings =
      document === undefined || tree === undefined ? [] : findDecisionFunctions(tree, readDefinitions(document));
    const answer = {
      valid: isValid,
      text: tree?.text ?? null,
      tree: (tree as Record<string, unknown> | undefined) ?? null, // the parser returns an object
      unit,
      findings: reportFindings([...findings, ...unknownFindings]) as DatapointEvaluation['findings'], // this type has read-only lists
    };
    if (
      !isValid ||
      document === undefined ||
      tree === undefined ||
      servedMarket === undefined ||
      unknownFindings.length > 0
    )
      return { ...answer, as_of: null, values: [] };
    const reachedDocuments = await resolveReached(documents, document);
    const storeId = findStore(reachedDocuments, getCallMarket()?.identity.datasetId);
    if (storeId !== null && storeId !== servedMarket.identity.datasetId)
      return stores.within(storeId, () => evaluate(request, signal));
    const question = {
      market: servedMarket.handle,
      documents: reachedDocuments,
      indexId: TERMS,
      day: request.as_of,
      expression: tree,
      expects: request.expects,
      identifiers: request.identifiers,
      most: VALUES_MAX,
    };
    const { asOf, values } = await jobs.query('evaluate-datapoint', question, signal);
    return { ...answer, as_of: asOf, values: [...values] };
  }

  return { evaluate };
}

/** Returns true if a finding is about the input of the client and not about the rest of the temporary definition. */
const isOfRequest = ({ path }: Finding): boolean => /^(?:universe|datapoints|plugins|calendar|currency)\b/.test(path);

interface DatapointQuery {
  readonly tree: ExpressionNode | undefined;
  readonly unit: string | null;
  readonly findings: readonly Finding[];
}

function readDatapointQuery(
  { expression, expects }: DatapointRequest,
  definitions: Definitions,
  market: MarketData | undefined,
): DatapointQuery {
  const units = createUnitReader(definitions);
  if (typeof expression === 'string') {
    const read = readExpression(expression, expects, units);
    const problems = read.problems.map((problem): Finding => ({ severity: 'error', path: 'expression', ...problem }));
    const missingData = findMissingData(read.tree, { expects, definitions, market });
    const locatedFindings = locateInTexts(missingData, new Map<string, ParsedText>([['expression', read]]));
    return { tree: read.tree && addText(read.tree), unit: read.unit, findings: [...problems, ...locatedFindings] };
  }
  const schema = expects === 'number' ? NumberExpression : Condition;
  const { value, findings } = checkShape(schema, expression, { path: 'expression' });
  if (value === undefined) return { tree: undefined, unit: null, findings };
  const { problems, unit } = checkTree(value, expects, units);
  const clashes = problems.map(({ code, message }): Finding => ({
    severity: 'error',
    path: 'expression',
    code,
    message,
  }));
  return {
    tree: addText(value),
    unit: expects === 'number' ? formatUnit(unit) : null,
    findings: [...clashes, ...findMissingData(value, { expects, definitions, market })],
  };
}

interface MarketCheckInput {
  readonly expects: DatapointRequest['expects'];
  readonly definitions: Definitions;
  readonly market: MarketData | undefined;
}

/** Reports data that an expression needs but the served market does not have. */
function findMissingData(
  tree: ExpressionNode | undefined,
  { expects, definitions, market }: MarketCheckInput,
): Finding[] {
  if (tree === undefined || market === undefined) return [];
  const use = expects === 'number' ? { ...useNumber(tree), as: 'any' as const } : useCondition(tree, '');
  return checkFields([{ use, path: 'expression', rowId: null }], market, 'error', definitions);
}

/** Returns a finding if an expression calls a function that works only in the decisions of an index. */
function findDecisionFunctions(tree: ExpressionNode, definitions: Definitions): Finding[] {
  const decisionCalls = listCalls(tree, definitions).filter(isKnownAtDecisions);
  if (decisionCalls.length === 0) return [];
  const message = `Values are not shown: ${decisionCalls[0]!.name} is available only in the decisions of an index.`;
  return [{ severity: 'info', code: 'NO_EFFECT', path: 'expression', message }];
}

/** Definition with every document that it refers to, and the stored risk models that these documents use. */
interface QuestionDefinition {
  readonly document: IndexDocument;
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly models?: ModelFiles;
  /** Version of the stored index. */
  readonly version: number | null;
}

type RequestBody = Readonly<Record<string, unknown>>;

/** JSON text that a worker wrote. */
type Json = Promise<Uint8Array<ArrayBuffer>>;

/** Document that is valid and can be computed, with its warnings. */
interface CheckedDocument {
  readonly document: IndexDocument;
  readonly findings: readonly Finding[];
}

/** Service that returns the definition for a request: from a body, a stored index or a run. */
function createQuestionDefinitions(context: Context) {
  const { documents, artifacts, stores, states, markets, calendars } = context;

  /** Returns the documents that a document refers to, and the stored risk models that they use. */
  async function findReached(document: IndexDocument) {
    const reachedDocuments = await resolveReached(documents, document);
    const use = { documents: reachedDocuments, storeId: markets.served()?.identity.datasetId };
    return { documents: reachedDocuments, ...(await resolveModelFiles(documents, artifacts, use)) };
  }

  /** Checks the document in a body. @throws Refusal VALIDATION_FAILED */
  async function checkBody(body: RequestBody): Promise<CheckedDocument> {
    const { document, findings } = await createStoredIndices(documents).answer((lookUpIndex) =>
      validateIndex(body, { calendars: calendars.list(), calendarOf: calendars.get, indexOf: lookUpIndex }),
    );
    if (document === undefined) throw refuseWithFindings('index document', findings);
    return { document: await addStoredParts(documents, document), findings };
  }

  /**
   * Returns the findings about a document. If the served market lacks data that the document needs, that is an error.
   */
  async function listMarketFindings(document: IndexDocument, market: MarketData): Promise<readonly Finding[]> {
    const { findings, assumed } = await createStoredIndices(documents).answer((lookUpIndex) => ({
      findings: checkOnMarket(document, market, { severity: 'error', indexOf: lookUpIndex }),
      assumed: listAssumptions(document, market, lookUpIndex),
    }));
    assertNoErrors('index document', findings);
    return [...findings, ...assumed];
  }

  /**
   * Returns a stored index with its version. The version is null if another version was stored during the read, or if
   * the index is older than versions. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE
   */
  async function readCurrent(id: string): Promise<Pick<QuestionDefinition, 'document' | 'version'>> {
    const { document, etag } = await requireIndex(documents, id);
    return { document, version: await findVersionByEtag(documents, { kind: 'index', id }, etag) };
  }

  /** Reads the definition of a stored run. @throws Refusal RUN_NOT_FOUND, DOCUMENT_UNREADABLE */
  async function loadRunDefinition(subject: string, id: string): Promise<QuestionDefinition> {
    const run = await requireRun(documents, { subject, id });
    const { indexId, ...reached } = (await readRunDefinition(artifacts, run)).definition;
    return { document: reached.documents[indexId]!, ...reached, version: run.index_version ?? null };
  }

  async function runOnRun<T>(
    subject: string,
    id: string,
    work: (definition: QuestionDefinition) => Promise<T>,
  ): Promise<T> {
    const storeId = await states.findStore(await requireRun(documents, { subject, id }));
    return stores.within(storeId, async () => work(await loadRunDefinition(subject, id)));
  }

  const runOnDefinitionStore = <T>(definition: RequestBody | IndexDocument, work: () => Promise<T>) =>
    runOnStoreOf(context, definition, work);

  return {
    reached: findReached,
    checked: checkBody,
    onMarket: listMarketFindings,
    now: readCurrent,
    onStore: runOnDefinitionStore,
    onRun: runOnRun,
  };
}

/** Adds the version of a definition to a response that was computed from it. */
export function addVersion(version: number | null, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return prependHead({ bytes: new TextEncoder().encode(`{"index_version":${version},`) }, bytes);
}

interface ExplainTerms {
  readonly as_of?: string | undefined;
  /** Id of the run with the definition to explain. Default: the stored definition. */
  readonly run_id?: string | undefined;
}

/** Definition of a run or of a stored index. For a stored index, the other documents are read afterwards. */
type ExplainedDefinition = Pick<QuestionDefinition, 'document' | 'version'> & Partial<QuestionDefinition>;

interface ExplainedQuestion {
  readonly indexId: string;
  readonly identifier: string;
  readonly asOf: string | undefined;
  readonly isOfRun: boolean;
}

async function explainDefinition(
  { jobs, markets }: Context,
  definitions: ReturnType<typeof createQuestionDefinitions>,
  definition: ExplainedDefinition,
  { indexId, identifier, asOf, isOfRun }: ExplainedQuestion,
  signal: AbortSignal,
): Json {
  const { document, version } = definition;
  assertDecides(document);
  const { handle, market } = markets.require();
  if (!market.identifiers.includes(identifier))
    throw new Refusal('IDENTIFIER_NOT_FOUND', `The data store ${market.datasetId} does not hold ${identifier}.`, {
      identifier,
    });
  if (!isOfRun) await definitions.checked(document);
  await definitions.onMarket(document, market);
  const { documents: reachedDocuments, models } =
    definition.documents === undefined
      ? await definitions.reached(document)
      : { documents: definition.documents, models: definition.models };
  const question = {
    market: handle,
    documents: reachedDocuments,
    ...(models === undefined ? {} : { models }),
    indexId,
    identifier,
    asOf: asOf ?? null,
  };
  const { bytes } = await jobs.query('explain', question, signal);
  return addVersion(version, bytes);
}

/**
 * Number of days and maximum number of points of a sketched level: three years, with one point per one or two pixels.
 */
export const SKETCH_DAYS = 3 * 366;
export const SKETCH_POINTS = 80;

/** Days of history that a sketch adds for each document that the sketched document reads. */
const HISTORY_DAYS = 366;

/**
 * Returns the documents with later base dates: at most three years before the end of the market. A request can then
 * compute the sketch quickly. Documents that the sketched document reads start one year earlier, so that it has
 * history.
 * @param subject id of the sketched document
 */
function limitHistory(
  documents: Readonly<Record<string, IndexDocument>>,
  { subject, market: { dates } }: { readonly subject: string; readonly market: Pick<MarketData, 'dates'> },
): Readonly<Record<string, IndexDocument>> {
  const earliestDay = (dates.at(-1) ?? 0) - SKETCH_DAYS;
  return Object.fromEntries(
    Object.entries(documents).map(([id, document]) => {
      const day = formatDay(id === subject ? earliestDay : earliestDay - HISTORY_DAYS);
      return [id, document.base_date >= day ? document : { ...document, base_date: day }];
    }),
  );
}

function formatSketch(name: string, { dates, levels, volatilities, exposures }: ComputedSketch): LevelSketchPayload {
  const createSeries = (data: readonly (number | null)[]) => ({ index: [...dates], data: [...data], name });
  return {
    level: createSeries(levels),
    volatility: createSeries(volatilities),
    exposure: exposures && createSeries(exposures),
  };
}

/** Requests about definitions. They are answered at once and store nothing. */
export interface IndexQuestions {
  /**
   * Returns a PreviewResponse. @throws Refusal VALIDATION_FAILED, NO_DATA_SOURCE, EMPTY_INDEX, FX_MISSING, OVERLOADED
   */
  previewStored(indexId: string, request: () => PreviewTerms, signal: AbortSignal): Json;
  previewDocument(body: RequestBody, signal: AbortSignal): Json;
  /** Returns the level of the document in the body for the last three years. @throws the refusals of a preview */
  sketchLevel(body: RequestBody, signal: AbortSignal): Promise<LevelSketchPayload>;
  /** Returns a WhatIfResponse. @throws Refusal INDEX_NOT_FOUND, and the refusals of a preview */
  whatIf(body: RequestBody, signal: AbortSignal): Json;
  /**
   * Returns an IndexExplanation.
   * @throws Refusal INDEX_NOT_FOUND, IDENTIFIER_NOT_FOUND, NO_DATA_AT_DATE, and the refusals of a preview
   */
  explain(indexId: string, identifier: string, query: ExplainTerms, signal: AbortSignal): Json;
  /**
   * Returns a RebalancePack, or its orders in a file format. @throws Refusal INDEX_NOT_FOUND, NO_DATA_AT_DATE, and the
   * refusals of a preview
   */
  rebalancePack(indexId: string, request: PackRequest, signal: AbortSignal): Json;
  /** Returns the methodology of an index in sentences. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
  methodology(indexId: string): Promise<Methodology>;
}

interface PreviewTerms {
  readonly as_of: string | null;
  readonly run_id?: string | undefined;
  readonly as_known_on?: AsKnownOn | undefined;
}

export interface PackRequest {
  readonly request: RebalancePackRequest;
  readonly format: ExportFormat;
}

/** @param computeSchedule returns the schedule of an index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
export function createIndexQuestions(
  context: Context,
  computeSchedule: (document: IndexDocument) => Promise<Pick<IndexSchedule, 'called'>>,
): IndexQuestions {
  const { documents, jobs, markets, dataVersions } = context;
  const definitions = createQuestionDefinitions(context);
  const { reached, checked, onMarket, onStore, onRun } = definitions;
  const explain = (definition: ExplainedDefinition, question: ExplainedQuestion, signal: AbortSignal): Json =>
    explainDefinition(context, definitions, definition, question, signal);

  async function preview(definition: QuestionDefinition, terms: PreviewTerms, signal: AbortSignal): Json {
    const { document, version, ...all } = definition;
    const { handle, market } = await dataVersions.servedAt(terms.as_known_on);
    await onMarket(document, market);
    const question = { market: handle, ...all, indexId: document.id, asOf: terms.as_of };
    const { bytes } = await jobs.query('preview', question, signal);
    return addVersion(version, bytes);
  }

  return {
    async previewStored(indexId, request, signal) {
      const { document: storedIndex, version } = await definitions.now(indexId);
      const terms = request();
      if (terms.run_id !== undefined)
        return onRun(indexId, terms.run_id, (definition) => preview(definition, terms, signal));
      return onStore(storedIndex, async () => {
        const { document } = await checked(storedIndex);
        return preview({ document, version, ...(await reached(document)) }, terms, signal);
      });
    },
    async previewDocument(body, signal) {
      const { value, findings } = checkShape(DocumentQuestion, body);
      if (value === undefined) throw refuseWithFindings('body', findings);
      return onStore(value.document as RequestBody, async () => {
        const { document } = await checked(value.document as RequestBody);
        return preview({ document, version: null, ...(await reached(document)) }, value, signal);
      });
    },
    async sketchLevel(body, signal) {
      const { value, findings } = checkShape(PlainQuestion, body);
      if (value === undefined) throw refuseWithFindings('body', findings);
      return onStore(value.document as RequestBody, async () => {
        const { document } = await checked(value.document as RequestBody);
        const { handle, market } = markets.require();
        await onMarket(document, market);
        const { documents: all, ...others } = await reached(document);
        const question = { market: handle, documents: limitHistory(all, { subject: document.id, market }), ...others };
        const answer = await jobs.query(
          'sketch-level',
          { ...question, indexId: document.id, points: SKETCH_POINTS },
          signal,
        );
        return formatSketch(document.id, answer);
      });
    },
    async whatIf(body, signal) {
      const { value, findings } = checkShape(WhatIfQuestion, body);
      if (value === undefined) throw refuseWithFindings('body', findings);
      const base = value.index_id === null ? value.document! : (await requireIndex(documents, value.index_id)).document;
      return onStore(base as RequestBody, () => computeWhatIf(base as RequestBody, value, signal));
    },
    async explain(indexId, identifier, { as_of: asOf, run_id: runId }, signal) {
      const question = { indexId, identifier, asOf };
      if (runId !== undefined)
        return onRun(indexId, runId, (definition) => explain(definition, { ...question, isOfRun: true }, signal));
      const definition = await definitions.now(indexId);
      return onStore(definition.document, () => explain(definition, { ...question, isOfRun: false }, signal));
    },
    async rebalancePack(indexId, packRequest, signal) {
      const { document } = await requireIndex(documents, indexId);
      return onStore(document, async () => {
        assertDecides(document);
        const { handle, market } = markets.require();
        await checked(document);
        await onMarket(document, market);
        const version = (await readHead(documents, { kind: 'index', id: indexId }))?.latest ?? null;
        const { called } = await computeSchedule(document);
        const question = { market: handle, ...(await reached(document)), indexId, version, called, ...packRequest };
        const { bytes } = await jobs.query('rebalancePack', question, signal);
        return bytes;
      });
    },
    async methodology(indexId) {
      const { document } = await requireIndex(documents, indexId);
      const adjustment = await readAdjustment(context, document);
      return {
        index_id: indexId,
        name: document.name,
        sentences: listMethodologySentences(document, adjustment).map((sentence, i) => ({
          number: i + 1,
          ...sentence,
        })),
      };
    },
  };

  async function computeWhatIf(body: RequestBody, value: z.output<typeof WhatIfQuestion>, signal: AbortSignal): Json {
    const checkedIndex = (await checked(body)).document;
    assertDecides(checkedIndex);
    const after = await checked((value.changed ?? mergePatch(checkedIndex, value.patch)) as RequestBody);
    return onStore(after.document, async () => {
      const { handle, market } = await dataVersions.servedAt(value.as_known_on);
      await onMarket(checkedIndex, market);
      assertDecides(after.document);
      const warnings = reportFindings([...after.findings, ...(await onMarket(after.document, market))]);
      const createQuestion = async (document: IndexDocument) => ({
        ...(await reached(document)),
        indexId: document.id,
      });
      const change = {
        market: handle,
        before: await createQuestion(checkedIndex),
        after: await createQuestion(after.document),
        asOf: value.as_of,
        findings: warnings,
      };
      return (await jobs.query('whatIf', change, signal)).bytes;
    });
  }
}
