import type { DatapointEvaluation, DatapointRequest } from '#contract/indices/datapoints.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { formatDay } from '#domain/time/days.js';
import { readDefinitions } from '#domain/documents/definitions.js';
import { locateInTexts } from '#domain/checks/document-expressions.js';
import { listCalledIndices } from '#domain/documents/named-indices.js';
import { validateIndex } from '#domain/checks/validate-index.js';
import { checkReference } from '#domain/checks/validate-reference.js';
import { hasErrors, sortFindings, type Finding } from '#domain/refusals/findings.js';
import type { MarketData } from '#domain/market/market-data.js';
import { WEIGHTING_CLASSES } from '#domain/rules/catalogue.js';
import { checkFields } from '#domain/rules/field-findings.js';
import { checkTree, createUnitReader } from '#domain/datapoints/expressions/check.js';
import { Condition, NumberExpression } from '#domain/datapoints/expressions/expression.js';
import { addText } from '#domain/datapoints/expressions/print.js';
import { readExpression, type ParsedText } from '#domain/datapoints/expressions/read-text.js';
import { listCalls, type Definitions } from '#domain/datapoints/expressions/reads.js';
import type { ExpressionNode } from '#domain/datapoints/expressions/tree.js';
import { formatUnit } from '#domain/datapoints/expressions/units.js';
import { useCondition, useNumber } from '#domain/datapoints/field-use.js';
import { checkShape } from '#domain/schema/shape.js';
import type { Jobs } from '#jobs/job-kind.js';
import { findStore } from '#domain/documents/store-of-documents.js';
import { getCallMarket } from '#market/serving/call-market.js';
import type { Markets } from '#market/serving/markets.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import type { DocumentStore } from '#store/port.js';
import { DEFAULT_CALENDAR } from './calendars.js';
import { fillStoredPlugins } from './filled-plugins.js';
import { resolveReached } from './reached-documents.js';
import { createStoredIndices } from '../stored/stored-indices.js';

/** Evaluation and explanation of expressions. */
export interface DatapointQuestions {
  /**
   * Evaluates an expression. @throws Refusal FX_MISSING, OVERLOADED, and the refusals of a run of the universe's index
   */
  evaluate(request: DatapointRequest, signal: AbortSignal): Promise<DatapointEvaluation>;
}

export interface DatapointQuestionsDependencies {
  readonly documents: DocumentStore;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly markets: Markets;
  readonly stores: Pick<StoreMarkets, 'within'>;
  readonly calendars: Calendars;
}

/** Id of the temporary definition that is created to evaluate an expression. */
const TERMS = 'TERMS-OF-AN-EXPRESSION';

/** Maximum number of values in a response. */
const VALUES_MAX = 3;

export function createDatapointQuestions({
  documents,
  jobs,
  markets,
  stores,
  calendars,
}: DatapointQuestionsDependencies): DatapointQuestions {
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
      findings: sortFindings([...findings, ...unknownFindings]) as DatapointEvaluation['findings'], // this type has read-only lists
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
  const decisionCalls = listCalls(tree, definitions).filter(({ name }) =>
    ['is_constituent', 'member_of', 'weight_in'].includes(name),
  );
  if (decisionCalls.length === 0) return [];
  const message = `Values are not shown: ${decisionCalls[0]!.name} is available only in the decisions of an index.`;
  return [{ severity: 'info', code: 'NO_EFFECT', path: 'expression', message }];
}
