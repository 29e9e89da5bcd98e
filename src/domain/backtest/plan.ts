import { compareVersions, parseVersion } from '#base/version.js';
import { describeUnknownField } from '../base/findings.js';
import { toCanonicalJson } from '../base/json.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '../base/refusals.js';
import { type Day, parseValidDay } from '../base/time.js';
import { assertSeriesBenchmark } from '../books/benchmark.js';
import { publishesPriceReturn } from '../books/index-run.js';
import { assertSingleHolding } from '../books/portfolios.js';
import { checkRequestedRange } from '../books/rebalance-dates.js';
import {
  type Calendars,
  listClosures,
  listExchangeCodes,
  type RecordedClosures,
  type SessionChange,
} from '../calendars/calendar.js';
import { omitLaterAmendments } from '../definition/amendments.js';
import type { BacktestPlan, ResolvedRequest } from '../definition/backtest-plan.js';
import { formatFieldName } from '../definition/catalogue.js';
import { checkConstraintFields } from '../definition/field-uses.js';
import { type IndexDocument, isOverlayDocument, listSources } from '../definition/index-document.js';
import { checkOnMarket } from '../definition/index-validation.js';
import { reportMissingReturns } from '../definition/optimisation.js';
import { listReferences } from '../definition/references.js';
import { findLateRates } from '../definition/required-rates.js';
import { BacktestFields } from '../definition/runs.js';
import type { StrategyDocument } from '../definition/strategies.js';
import { createReferenceSpells, type MarketData, type ReturnVariant } from '../market/market-data.js';

/**
 * Checks a plan against the market before the run and refuses a plan that cannot run.
 * @throws Refusal VALIDATION_FAILED, BENCHMARK_NOT_FOUND, CALENDAR_NOT_COVERED, NO_DATA_IN_RANGE, RANGE_TOO_SHORT,
 *   FX_MISSING, NUMERIC_FAILURE
 */
export function assertRunnable(
  plan: BacktestPlan,
  { market, calendars }: { readonly market: MarketData; readonly calendars: Calendars },
): void {
  const { indexId, documents, request, strategy } = plan;
  const document = documents[indexId]!;
  if (isOverlayDocument(document)) assertSingleHolding(plan);
  const calendar = calendars.get(document.calendar);
  if (!calendar)
    throw refuseWithFindings('index document', [
      {
        severity: 'error',
        code: 'UNKNOWN_CALENDAR',
        message: `The calendar ${document.calendar} is unknown.`,
        path: 'calendar',
      },
    ]);
  for (const reachedDocument of Object.values(documents))
    assertNoErrors(`index document ${reachedDocument.id}`, [
      ...checkOnMarket(reachedDocument, market, { severity: 'error', indexOf: (id) => documents[id] }),
      ...findLateRates(reachedDocument.id, { documents, market, calendars }),
    ]);
  if (strategy?.constraints)
    assertNoErrors('constraint set', [
      ...reportMissingReturns({}, strategy.constraints, ''),
      ...checkConstraintFields(strategy.constraints, market, { path: 'constraints', severity: 'error' }),
    ]);
  assertIdentifierBenchmark(market, request);
  const range = checkRequestedRange({ document, calendar, dates: market.dates, request });
  const series = request.benchmark?.kind === 'identifier' ? market.series?.get(request.benchmark.id) : undefined;
  if (series === undefined) return;
  const start = Math.max(range.start, findEarliestStart(document, documents));
  assertSeriesBenchmark(series, document, { market, calendar, range: { start, end: range.end } });
}

/** Returns the earliest day on which an index can begin: an overlay begins no earlier than its underlying indices. */
function findEarliestStart(document: IndexDocument, documents: BacktestPlan['documents']): Day {
  const underlyingIds = isOverlayDocument(document) ? listSources(document) : [];
  return Math.max(
    parseValidDay(document.base_date),
    ...underlyingIds.map((id) => findEarliestStart(documents[id]!, documents)),
  );
}

function assertIdentifierBenchmark(market: MarketData, { benchmark }: ResolvedRequest): void {
  if (benchmark?.kind !== 'identifier') return;
  const { id, price_column: column } = benchmark;
  const isSeries = market.series?.has(id) === true;
  if (!isSeries && !market.identifiers.includes(id))
    throw new Refusal('BENCHMARK_NOT_FOUND', `The data contains no identifier ${id}.`, { benchmark: id });
  const acceptedColumns = isSeries ? ['CLOSE'] : [...market.fields.keys()];
  if (acceptedColumns.includes(column)) return;
  const holderName = isSeries ? `series ${id}` : `data store ${market.datasetId}`;
  const sentence = `The ${holderName} has no column ${column}; it has ${acceptedColumns.join(', ')}.`;
  throw refuseWithFindings('request', [
    {
      severity: 'error',
      path: 'benchmark.price_column',
      ...describeUnknownField(sentence, { name: column, accepted: acceptedColumns }),
    },
  ]);
}

/**
 * First engine version with results bit-identical to those of this version. Set it to the next release when results
 * change: runs of earlier versions are then reported as stale.
 */
export const BIT_IDENTICAL_SINCE = '0.10.0';

/**
 * Returns true if the results of a stored run may not be bit-identical to those of this version. This is the case if
 * its version is earlier than `BIT_IDENTICAL_SINCE`, is later than the current version or cannot be parsed.
 */
export function mayDifferInBits(stored: string, current: string, since: string = BIT_IDENTICAL_SINCE): boolean {
  if (stored === current) return false;
  const [before, now, first] = [parseVersion(stored), parseVersion(current), parseVersion(since)];
  if (before === undefined || now === undefined || first === undefined) return true;
  return compareVersions(before, first) < 0 || compareVersions(before, now) > 0;
}

export interface RequestedPlan {
  readonly plan: BacktestPlan;
  /** Request as a client sent it; absent if it was not stored. */
  readonly asked?: unknown;
}

/**
 * Describes the differences between the definitions of two plans with the same id, one sentence each. Returns an empty
 * list if only the requests differ. A benchmark that only one plan has counts as a difference of the requests.
 */
export function listDefinitionChanges(before: RequestedPlan, after: RequestedPlan): string[] {
  return [
    ...listDocumentChanges(before.plan, after.plan),
    ...listCalendarChanges(before.plan, after.plan),
    ...listModelChanges(before.plan, after.plan),
    ...listStrategyChanges(before, after),
  ];
}

/**
 * Removes the labels of the documents of a plan, which have no effect on a run: tags, descriptions and names. The name
 * of the index that is run stays, because the run stores it.
 */
export const removeLabels = (plan: BacktestPlan): BacktestPlan => ({
  ...plan,
  documents: Object.fromEntries(
    Object.entries(plan.documents).map(([id, document]) => [
      id,
      { ...document, name: id === plan.runId ? document.name : '', description: null, tags: [] },
    ]),
  ),
});

/** Returns true if two plans have the same request, ignoring the end date. */
export function isSameRequest({ request: before }: BacktestPlan, { request: after }: BacktestPlan): boolean {
  return isSame({ ...before, end: null }, { ...after, end: null });
}

function listDocumentChanges(before: BacktestPlan, after: BacktestPlan): string[] {
  const changes = Object.keys(before.documents)
    .toSorted()
    .flatMap((id) => {
      const [was, is] = [removeClosures(before.documents[id]!), removeClosures(after.documents[id])];
      return is === undefined || isSame(was, is)
        ? []
        : [
            `The index ${id} changed since this run: ${joinTexts(listChangedFields(spreadPipeline(was), spreadPipeline(is)))}.`,
          ];
    });
  const isOther = before.indexId !== after.indexId || !isSame(listReachedIndices(before), listReachedIndices(after));
  if (changes.length > 0 || !isOther) return changes;
  return [
    `The indices that the run depends on changed from ${joinTexts(listReachedIndices(before))} to ${joinTexts(listReachedIndices(after))}.`,
  ];
}

const removeClosures = <T extends IndexDocument | undefined>(document: T): T =>
  document && { ...document, closures: undefined };

/** Returns the members of a document with the parts of its pipeline in place of the pipeline. */
const spreadPipeline = ({ pipeline, ...document }: IndexDocument): object => ({ ...document, ...pipeline });

/** Maximum number of changed days in a sentence. */
const LISTED_DAYS_MAX = 5;

/** Describes the calendars whose recorded session changes differ between the plans. */
function listCalendarChanges({ documents: before }: BacktestPlan, { documents: after }: BacktestPlan): string[] {
  const [was, is] = [listClosures(before), listClosures(after)];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].toSorted().flatMap((code) => {
    const days = listChangedDays(was[code]?.changes ?? [], is[code]?.changes ?? []);
    if (days.length === 0) return [];
    const moreText = days.length > LISTED_DAYS_MAX ? ` and ${days.length - LISTED_DAYS_MAX} more` : '';
    return [`The calendar ${code} changed since this run: ${joinTexts(days.slice(0, LISTED_DAYS_MAX))}${moreText}.`];
  });
}

/** Returns the dates of changes that only one of two lists has. Reasons and hours have no effect on a run. */
function listChangedDays(before: readonly SessionChange[], after: readonly SessionChange[]): string[] {
  const formatEffect = ({ date, session }: SessionChange) => `${date} ${session}`;
  const [effectsBefore, effectsAfter] = [new Set(before.map(formatEffect)), new Set(after.map(formatEffect))];
  const sessionChanges = [
    ...before.filter((change) => !effectsAfter.has(formatEffect(change))),
    ...after.filter((change) => !effectsBefore.has(formatEffect(change))),
  ];
  return [...new Set(sessionChanges.map(({ date }) => date))].toSorted();
}

/** Describes stored risk models of both plans that were re-estimated. */
function listModelChanges({ models: before = {} }: BacktestPlan, { models: after = {} }: BacktestPlan): string[] {
  return Object.keys(before)
    .toSorted()
    .flatMap((id) =>
      after[id] === undefined || isSame(before[id], after[id]) ? [] : [`The risk model ${id} changed since this run.`],
    );
}

function listReachedIndices({ indexId, documents }: BacktestPlan): string[] {
  const reachedIds: string[] = [];
  const visitIndex = (id: string): void => {
    if (reachedIds.includes(id)) return;
    reachedIds.push(id);
    const document: IndexDocument | undefined = documents[id];
    if (document !== undefined) for (const next of listReferences(document)) visitIndex(next);
  };
  visitIndex(indexId);
  return reachedIds;
}

/**
 * Describes the changes of a strategy: its name, its terms and its defaults. A default changed if the client sent the
 * same request twice but the resolved requests differ.
 */
function listStrategyChanges(before: RequestedPlan, after: RequestedPlan): string[] {
  const { runId, strategy: was } = before.plan;
  const { strategy: is } = after.plan;
  if (was === undefined && is === undefined) return [];
  if (was === undefined || is === undefined)
    return [`${runId} was ${was ? 'a strategy' : 'an index'}; it is ${is ? 'a strategy' : 'an index'}.`];
  const isAskedAgain = before.asked !== undefined && isSame(before.asked, after.asked ?? null);
  const changedDefaults = isAskedAgain ? listChangedFields(before.plan.request, after.plan.request) : [];
  const name = before.plan.name === after.plan.name ? [] : ['name'];
  const fields = [...name, ...listChangedFields(was, is), ...changedDefaults];
  return fields.length === 0 ? [] : [`The strategy ${runId} changed since this run: ${joinTexts(fields)}.`];
}

/** Returns the names of the fields that differ, in alphabetical order. */
function listChangedFields(before: object, after: object): string[] {
  const fieldsBefore = new Map<string, unknown>(Object.entries(before));
  const fieldsAfter = new Map<string, unknown>(Object.entries(after));
  return [...new Set([...fieldsBefore.keys(), ...fieldsAfter.keys()])]
    .filter((field) => !isSame(fieldsBefore.get(field), fieldsAfter.get(field)))
    .map(formatFieldName)
    .toSorted();
}

function isSame(a: unknown, b: unknown): boolean {
  return toCanonicalJson(a ?? null) === toCanonicalJson(b ?? null);
}

const joinTexts = (texts: readonly string[]): string => texts.join(', ');

const exchangeCache = new WeakMap<MarketData, ReadonlySet<string>>();

/** Returns the exchanges of a market's securities. @cost a pass over the reference data, once per market */
function listExchanges(market: MarketData): ReadonlySet<string> {
  const cachedExchanges = exchangeCache.get(market);
  if (cachedExchanges !== undefined) return cachedExchanges;
  const codes = new Set<string>();
  for (const spells of createReferenceSpells(market, 'EXCHANGE'))
    for (const { value } of spells) if (typeof value === 'string') codes.add(value);
  exchangeCache.set(market, codes);
  return codes;
}

/**
 * Returns a copy of a plan for comparison with another plan. The copy keeps only the recorded calendar changes
 * (calendars, dates, sessions) that a run on the market uses. Without a market, the copy keeps all recorded changes.
 */
export function selectPlanClosures(plan: BacktestPlan, market: MarketData | undefined): BacktestPlan {
  const usedCalendars = new Set([
    ...Object.values(plan.documents).flatMap(({ calendar }) => listExchangeCodes(calendar)),
    ...(market === undefined ? [] : listExchanges(market)),
  ]);
  const selectEffectiveClosures = (closures: RecordedClosures): RecordedClosures =>
    Object.fromEntries(
      Object.entries(closures).flatMap(([code, { changes }]) =>
        (market !== undefined && !usedCalendars.has(code)) || changes.length === 0
          ? []
          : [[code, { version: 1, changes: changes.map(({ date, session }) => ({ date, session, reason: '' })) }]],
      ),
    );
  const documents = Object.entries(plan.documents).map(([id, { closures = {}, ...document }]) => {
    const effectiveClosures = selectEffectiveClosures(closures);
    return [
      id,
      Object.keys(effectiveClosures).length === 0 ? document : { ...document, closures: effectiveClosures },
    ] as const;
  });
  return { ...plan, documents: Object.fromEntries(documents) };
}

/**
 * Returns a plan without the amendments that take effect after a date. A run that ends on that date uses this
 * definition.
 */
export function limitPlanToDate(plan: BacktestPlan, date: string): BacktestPlan {
  const documents = Object.entries(plan.documents).map(
    ([id, document]) => [id, omitLaterAmendments(document, date)] as const,
  );
  return { ...plan, documents: Object.fromEntries(documents) };
}

/** Returns the terms of a run. Request terms take precedence over strategy terms, and strategy terms over defaults. */
export function resolveRequest(
  overrides: { readonly [K in keyof ResolvedRequest]?: ResolvedRequest[K] | undefined },
  strategy?: StrategyDocument,
): ResolvedRequest {
  const strategyTerms = strategy && {
    benchmark: strategy.benchmark,
    start: strategy.start,
    end: strategy.end,
    initial_capital: strategy.initial_capital,
    transaction_cost_bps: strategy.transaction_cost_bps,
  };
  const request = Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined));
  return BacktestFields.parse({ ...strategyTerms, ...request });
}

/**
 * Refuses an index as its own benchmark.
 * @throws Refusal if the benchmark of an index is the index itself
 */
export function assertForeign({ id }: IndexDocument, { benchmark }: ResolvedRequest): void {
  if (benchmark?.kind !== 'index' || benchmark.id !== id) return;
  throw refuseWithFindings('request', [
    {
      severity: 'error',
      code: 'BENCHMARK_IS_SELF',
      message: `The benchmark ${id} is the index of the backtest.`,
      path: 'benchmark.id',
      value: id,
    },
  ]);
}

/** Kinds of differences between a stored run and a new run of its request. */
export interface StaleState {
  /** True if the index, or a document that it refers to, changed since the run. */
  readonly definition: boolean;
  /** True if the data changed since the run. */
  readonly data: boolean;
  /** True if this engine version may produce other results. */
  readonly engine: boolean;
  /** Differences between the stored run and a new run, one sentence each. */
  readonly reasons: readonly string[];
  /** Name of the run's store; null if that store is in use. */
  readonly store_id: string | null;
}

/** State of a run that every view of it reports. */
export interface RunState {
  /** Version of the index or strategy at the time of the run; null for runs before versions were introduced. */
  readonly index_version: number | null;
  /** Data store of the run; null for runs that were stored without it. */
  readonly store_id: string | null;
  readonly stale: StaleState | null;
}

export interface StaleReasons extends Readonly<Record<'definition' | 'data' | 'engine', readonly string[]>> {
  /** Name of the run's store; null if that store is in use. */
  readonly otherStore: string | null;
}

/** Combines the reasons into a staleness state. Returns null if there are none. */
export function combineStaleReasons({ definition, data, engine, otherStore }: StaleReasons): StaleState | null {
  const reasons = [...definition, ...data, ...engine];
  if (reasons.length === 0) return null;
  return {
    definition: definition.length > 0,
    data: data.length > 0,
    engine: engine.length > 0,
    reasons,
    store_id: otherStore,
  };
}

/**
 * Returns true if the book of a return variant is not that of the index, but its weights and divisor are published. Only
 * an index is published.
 */
export const isPublishedBook = (
  { strategy }: Pick<BacktestPlan, 'strategy'>,
  index: Parameters<typeof publishesPriceReturn>[0],
  variant: ReturnVariant,
): boolean => strategy === undefined && variant === 'price' && publishesPriceReturn(index);
