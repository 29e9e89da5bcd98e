import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import type { Finding } from '../base/findings.js';
import { findLastAtMost, isEqual } from '../base/numbers.js';
import { assertNoErrors, Refusal } from '../base/refusals.js';
import { addMonths, type Day, formatDay, parseValidDay, toCivilDate, toDay } from '../base/time.js';
import type {
  DecidedComposition,
  Decider,
  FailedDecision,
  OutgoingComposition,
  ReviewPool,
} from '../books/compositions.js';
import type { IndexWeightsReader } from '../books/rebalance.js';
import { createCrossSections, type CrossSection, type CrossSections } from '../datapoints/cross-section.js';
import { createValuation, type Series, type Valuation, YEARS_OF_GROWTH_MAX } from '../datapoints/series.js';
import { GROWTH_DATAPOINTS } from '../datapoints/evaluation.js';
import {
  type Definitions,
  listExpressionReads,
  countReviewsBack,
  listIndices,
  readsConstituents,
  readsDividendYears,
} from '../datapoints/expression-checks.js';
import { describeExpression } from '../datapoints/expression-text.js';
import { type DatapointExpression, type FieldUse, useNumber } from '../datapoints/expression-tree.js';
import { DEFAULT_WINDOW, type FieldRequest, isSessionReturn } from '../datapoints/fields.js';
import { createPositions, rankPositions, selectPositionsWithValue } from '../datapoints/statistics.js';
import { changesMembers, countNoticeSessions, listRebalanceDates } from '../definition/schedule.js';
import { checkFields, type LocatedUse } from '../definition/field-uses.js';
import type { RuleDocument, TreatmentSpec } from '../definition/index-document.js';
import {
  bindPipeline,
  type BoundGroupCap,
  type BoundPipeline,
  hasIndependentWeights,
  keepsShares,
  listReads,
} from '../definition/rule-pipeline.js';
import { readValues, type SelectionScope, type Verdict } from '../definition/selection.js';
import { applyStoreDefaults, countStaleSessions, readPriceSessions } from '../definition/treatment.js';
import { createWeights, type RawWeights, type WeighedSecurities } from '../definition/weighting-classes.js';
import type { WeightingSpec } from '../definition/weighting.js';
import { createGrowthTerms, createReturnTerms, valueSpinOff } from '../market/action-effects.js';
import { computeGrowth } from '../market/growth.js';
import type { CorporateAction } from '../market/market-data.js';
import { createExchangeRates, requireRate } from '../market/rates.js';
import { findReturnGaps, hasLeftMarket, type SessionMarket } from '../market/session-market.js';
import type { StoredModels } from '../risk/stored-models.js';
import { applyCaps, applyLadder, type CapInfeasible, type CappedOutcome, type GroupCaps } from './capping.js';

/** Members of a document that determine its review dates. */
type PhaseTerms = Pick<RuleDocument, 'rebalance' | 'base_date'>;

/**
 * Returns the reference sessions of the latest scheduled reviews of an index that are decided up to a session, including
 * a review that takes effect later. The latest comes first; there are at most `count`, none before the first session of
 * the market. Reviews with the same reference session count once.
 */
export function findLatestReviews(
  { rebalance, base_date }: PhaseTerms,
  sm: Pick<SessionMarket, 'sessions' | 'calendar' | 'sessionAt'>,
  { session, count }: { readonly session: number; readonly count: number },
): number[] {
  const { sessions, calendar } = sm;
  const day = sessions[session]!;
  // Effective dates come from the calendar: the market may end before them.
  const latest = findLastAtMost(calendar.sessions, day) + countNoticeSessions(rebalance);
  const to = calendar.sessions[Math.min(latest, calendar.sessions.length - 1)]!;
  const dates = listRebalanceDates({ rebalance, calendar, baseDay: parseValidDay(base_date), from: sessions[0]!, to });
  const reviews: number[] = [];
  for (let i = dates.length - 1; i >= 0 && reviews.length < count; i--) {
    const { decision } = dates[i]!;
    const reviewSession = decision > day ? -1 : sm.sessionAt(decision);
    if (reviewSession >= 0 && reviewSession !== reviews.at(-1)) reviews.push(reviewSession);
  }
  return reviews;
}

/**
 * Returns phased-in values: the mean over the latest reviews. If a review has no value, the value of the next review is
 * used, so that a security enters with its full value.
 * @param atReviews values at the latest reviews, latest first, [n] each
 * @param today values at the decision, [n]
 * @param stepCount number of reviews in a phase; reviews before the first one use the value at the first one
 */
function blendReviewValues(atReviews: readonly Float64Array[], today: Float64Array, stepCount: number): Float64Array {
  return today.map((now, i) => {
    let value = now;
    let sum = 0;
    for (let k = 0; k < stepCount; k++) {
      const reviewValue = atReviews[k]?.[i] ?? NaN;
      if (!Number.isNaN(reviewValue)) value = reviewValue;
      sum += value;
    }
    return sum / stepCount;
  });
}

/** Step of the selection: first the universe, then one step per rule. */
interface WaterfallStep {
  /** Number of the step; 0 for the universe. */
  readonly position: number;
  readonly ruleId: string | null;
  readonly ruleType: string | null;
  readonly remaining: number;
  /** Columns that the rule removed, ascending. */
  readonly excluded: Int32Array;
}

/** Inputs of a choice in addition to the rules and the market. */
export interface DecisionInput {
  readonly session: number;
  readonly universe: Int32Array;
  /** Columns of the constituents before the decision. Null if there are none, or if no rule reads them. */
  readonly incumbents: ArrayLike<number> | null;
}

/** Decision before caps: selected securities, and their weights before any limit. */
export interface SelectionTrace {
  readonly cross: CrossSection;
  readonly waterfall: readonly WaterfallStep[];
  /** Securities and verdicts of each applied rule; rules after an empty selection are not applied. */
  readonly verdicts: readonly { readonly scope: SelectionScope; readonly verdict: Verdict }[];
  readonly survivors: Int32Array;
  /** Raw weights; absent if no security remains. */
  readonly raw: RawWeights | undefined;
  /** Securities with a weight; empty if there is no weighting. */
  readonly columns: Int32Array;
  readonly unweighted: Int32Array;
  /** Weights of `columns`, with sum 1. */
  readonly uncapped: Float64Array;
}

export interface ChooseInput extends DecisionInput {
  readonly pipeline: BoundPipeline;
  readonly market: SessionMarket;
  readonly engine: Engine;
  readonly riskModel: StoredModels;
  readonly document: PhaseTerms;
  readonly openReview: ReviewOpener;
}

/** Returns the datapoints of some securities at a session, with the data known at a decision on it. */
type ReviewOpener = (
  session: number,
  known: { readonly universe: Int32Array; readonly incumbents: Uint8Array | null },
) => CrossSection;

interface ReviewTerms {
  readonly document: PhaseTerms;
  readonly market: SessionMarket;
  readonly sections: CrossSections;
  readonly universe: (session: number) => Int32Array;
  readonly indexWeights: IndexWeightsReader;
  /** Returns the constituents before an earlier review, by column. Null before the first composition. */
  readonly earlierMembers: (session: number) => Uint8Array | null;
}

/** Creates a function that opens a session with the scheduled reviews before it. */
function createReviewOpener({
  document,
  market,
  sections,
  universe,
  indexWeights,
  earlierMembers,
}: ReviewTerms): ReviewOpener {
  const openReview: ReviewOpener = (session, known) => {
    const opened = new Map<number, CrossSection | null>();
    const openEarlier = (reviewsBack: number): CrossSection | null => {
      const reviews = findLatestReviews(document, market, { session, count: reviewsBack + 1 });
      const review = reviews.filter((one) => one < session)[reviewsBack - 1];
      if (review === undefined) return null;
      return openReview(review, { universe: universe(review), incumbents: earlierMembers(review) });
    };
    return sections.at(session, known.universe).given({
      incumbents: known.incumbents,
      indexWeights: (indexId, basis) => indexWeights(indexId, session, basis),
      earlier(reviewsBack) {
        let section = opened.get(reviewsBack);
        if (section === undefined) opened.set(reviewsBack, (section = openEarlier(reviewsBack)));
        return section;
      },
    });
  };
  return openReview;
}

/** Selects and weights constituents, before any limits. */
function chooseSecurities(input: ChooseInput): SelectionTrace {
  const { pipeline, market, engine, riskModel, session } = input;
  const incumbents = input.incumbents === null ? null : flagMembers(input.incumbents, market.securityCount);
  const cross = input.openReview(session, { universe: input.universe, incumbents });
  const { waterfall, verdicts, survivors } = applyRules(input, cross, incumbents);
  const emptyChoice = { columns: NO_COLUMNS, unweighted: NO_COLUMNS, uncapped: NO_WEIGHTS };
  const choice = { cross, waterfall, verdicts, survivors, raw: undefined, ...emptyChoice };
  if (survivors.length === 0) return choice;
  const rawWeights = pipeline.weighting.weigh({
    cross,
    columns: survivors,
    identifiers: market.identifiers,
    engine,
    riskModel,
  });
  const raw = applyPhaseIn(rawWeights, { ...input, incumbents }, { cross, survivors });
  if (raw.kind === 'refused') return { ...choice, raw };
  const areAllWeighed = areAllPositive(raw.values);
  const columns = areAllWeighed ? survivors : survivors.filter((_, position) => raw.values[position]! > 0);
  if (columns.length === 0) return { ...choice, raw };
  const unweightedColumns = areAllWeighed ? NO_COLUMNS : survivors.filter((_, position) => raw.values[position] === 0);
  const uncappedWeights = normalise(areAllWeighed ? raw.values : raw.values.filter((value) => value > 0));
  return { ...choice, raw, columns, unweighted: unweightedColumns, uncapped: uncappedWeights };
}

interface PhasedInput extends Omit<ChooseInput, 'incumbents'> {
  readonly incumbents: Uint8Array | null;
}

function applyPhaseIn(
  raw: RawWeights,
  { pipeline, document, market, session, incumbents, openReview }: PhasedInput,
  { cross, survivors }: Pick<SelectionTrace, 'cross' | 'survivors'>,
): RawWeights {
  const { phaseIn } = pipeline;
  if (phaseIn === null || raw.kind === 'refused') return raw;
  const { use, steps } = phaseIn;
  const readValues = (review: number): Float64Array =>
    review === session
      ? cross.numbers(use.field, survivors)
      : openReview(review, { universe: survivors, incumbents }).numbers(use.field, survivors);
  const reviews = findLatestReviews(document, market, { session, count: steps });
  const factors = blendReviewValues(reviews.map(readValues), cross.numbers(use.field, survivors), steps);
  return createWeights(
    raw.values.map((value, position) => value * factors[position]!),
    (position) => ({ ...raw.parts?.(position), phase_in: Number.isNaN(factors[position]) ? null : factors[position]! }),
  );
}

/** Applies the selection rules in order, each to the securities that earlier rules kept. */
function applyRules({ pipeline, market }: ChooseInput, cross: CrossSection, incumbents: Uint8Array | null) {
  const { identifiers } = market;
  const { universe } = cross;
  const waterfall: WaterfallStep[] = [
    { position: 0, ruleId: null, ruleType: null, remaining: universe.length, excluded: NO_COLUMNS },
  ];
  const verdicts: { scope: SelectionScope; verdict: Verdict }[] = [];
  let survivors = universe;
  for (const [i, { id, type, rule }] of pipeline.rules.entries()) {
    const scope: SelectionScope = { cross, columns: survivors, identifiers, incumbents };
    const verdict = rule.select(scope);
    verdicts.push({ scope, verdict });
    const excludedColumns = filterByFlag(survivors, verdict.kept, 0);
    survivors = excludedColumns.length === 0 ? survivors : filterByFlag(survivors, verdict.kept, 1);
    waterfall.push({
      position: i + 1,
      ruleId: id,
      ruleType: type,
      remaining: survivors.length,
      excluded: excludedColumns,
    });
  }
  return { waterfall, verdicts, survivors };
}

const NO_COLUMNS = new Int32Array(0);
const NO_WEIGHTS = new Float64Array(0);

function filterByFlag(columns: Int32Array, flags: Uint8Array, flag: 0 | 1): Int32Array {
  let count = 0;
  for (let i = 0; i < columns.length; i++) if (flags[i] === flag) count++;
  const result = new Int32Array(count);
  for (let i = 0, k = 0; k < count; i++) if (flags[i] === flag) result[k++] = columns[i]!;
  return result;
}

function areAllPositive(values: Float64Array): boolean {
  for (let i = 0; i < values.length; i++) if (!(values[i]! > 0)) return false;
  return true;
}

/** Returns a flag for each column, 1 for the columns in a list. */
export function flagMembers(columns: ArrayLike<number>, securityCount: number): Uint8Array {
  const flags = new Uint8Array(securityCount);
  for (let i = 0; i < columns.length; i++) flags[columns[i]!] = 1;
  return flags;
}

/** Divides values by their sum. If the sum exceeds the range of a double, scales them by the largest value first. */
function normalise(values: Float64Array): Float64Array {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i]!;
  if (total < Infinity) {
    const shares = new Float64Array(values.length);
    for (let i = 0; i < values.length; i++) shares[i] = values[i]! / total;
    return shares;
  }
  const largest = values.reduce((most, value) => Math.max(most, value), 0);
  return normalise(values.map((value) => value / largest));
}

/** Earliest market data that a decision needs. */
export interface LookBack {
  /** First session whose bars and growth are read; negative if it is before the first session. */
  readonly session: number;
  /** Day after which cash that was paid must be in the market data. */
  readonly paidAfter: Day;
}

export interface LookBackInput {
  readonly document: RuleDocument;
  readonly sm: Pick<SessionMarket, 'sessions' | 'calendar' | 'sessionAt'>;
  readonly decision: number;
}

/**
 * Returns the look-back of a decision by rules, from the datapoints that the rules declare. Columns of the store do not
 * count, because they are read directly. If a rule reads further back, the restricted market throws
 * `BeforeMarketError`.
 */
export function computeLookBack({ document, sm, decision }: LookBackInput): LookBack {
  const { pipeline } = document;
  const boundPipeline = bindPipeline(document);
  const { fields, dividendYears } = listReadsBehind(
    listReads(boundPipeline).map(({ use }) => use.field),
    boundPipeline.definitions,
  );
  const ruleYears = boundPipeline.rules.reduce(
    (most, { rule }) => Math.max(most, rule.dividendYears ?? 0),
    dividendYears,
  );
  return computeLookBackOver({
    fields,
    dividendYears: ruleYears,
    maxStaleSessions: readPriceSessions(pipeline.treatment),
    sessions: sm.sessions,
    decision: Math.min(decision, ...findReadReviews(document, boundPipeline, { sm, session: decision })),
  });
}

/**
 * Returns the sessions of the latest reviews at which a decision reads datapoints, because the document phases in a
 * datapoint or its expressions read earlier reviews. They may include the session of the decision.
 */
export function findReadReviews(
  document: RuleDocument,
  pipeline: BoundPipeline,
  { sm, session }: Pick<LookBackInput, 'sm'> & { readonly session: number },
): number[] {
  const steps = pipeline.phaseIn?.steps ?? 0;
  const reviewsBack = listReads(pipeline).reduce(
    (most, { use }) => Math.max(most, countReviewsBack(use.field, pipeline.definitions)),
    0,
  );
  if (steps + reviewsBack === 0) return [];
  const reviews = findLatestReviews(document, sm, { session, count: steps + reviewsBack + 1 });
  // Functions such as `last_review` do not count a review on the session, while a phase-in does.
  return reviews.slice(0, steps + reviewsBack + Number(reviewsBack > 0 && reviews[0] === session));
}

/**
 * Returns the market datapoints that some expressions read, and the number of calendar years whose dividends they read.
 */
export function listReadsBehind(
  expressions: readonly DatapointExpression[],
  definitions: Definitions,
): Pick<ReadDatesInput, 'fields' | 'dividendYears'> {
  return {
    fields: expressions.flatMap((expression) => listExpressionReads(expression, definitions).map(({ field }) => field)),
    dividendYears: expressions.some((expression) => readsDividendYears(expression, definitions))
      ? YEARS_OF_GROWTH_MAX
      : 0,
  };
}

export interface ReadDatesInput extends Pick<LookBackInput, 'decision'> {
  /** Sessions of the index calendar, [S]. */
  readonly sessions: Int32Array;
  readonly fields: readonly FieldRequest[];
  /** Number of full calendar years before the decision whose dividends are read. */
  readonly dividendYears: number;
  readonly maxStaleSessions: number;
}

/** Returns the look-back of a decision that reads some datapoints. */
export function computeLookBackOver({
  fields,
  dividendYears,
  maxStaleSessions,
  sessions,
  decision,
}: ReadDatesInput): LookBack {
  const staleSessions = maxStaleSessions + CLOSED_SESSIONS;
  const session =
    decision -
    fields.reduce((most, field) => Math.max(most, field.lag + countReach(field, staleSessions)), staleSessions) -
    1;
  const findDay = (position: number): Day => sessions[Math.max(0, position)]!;
  const days = [findDay(session)];
  for (const field of fields)
    if (field.name === 'DIVIDEND_YIELD')
      days.push(addMonths(findDay(decision - field.lag - countSpan(field, staleSessions)), -12));
  if (dividendYears > 0)
    days.push(toDay({ year: toCivilDate(findDay(decision)).year - dividendYears, month: 1, day: 1 }) - 1);
  return { session, paidAfter: Math.min(...days) };
}

/**
 * Maximum number of consecutive sessions of the index on which the exchange of a security is closed, such as during a
 * golden week.
 */
const CLOSED_SESSIONS = 8;

/** Returns the number of earlier sessions whose bars or growth a datapoint reads. */
function countReach(field: FieldRequest, stale: number): number {
  return GROWTH_DATAPOINTS.has(field.name) ? countSpan(field, stale) : stale;
}

/** Returns the number of sessions over which a datapoint is read, or over which its latest value is searched. */
function countSpan({ name, window, aggregate }: FieldRequest, stale: number): number {
  const isStatistic = aggregate !== 'last' || (GROWTH_DATAPOINTS.has(name) && !isSessionReturn(name));
  return Math.max(stale, window ?? (isStatistic ? DEFAULT_WINDOW : 0));
}

/**
 * Creates a function that reports spin-offs whose distributed security has no price on the ex-date, if a decision reads
 * the return of the parent on that date. Its value is unknown then, and the return counts as 0.
 * @param fields datapoints that the decision reads
 */
function createSpinOffReport(
  sm: SessionMarket,
  fields: readonly FieldRequest[],
): (session: number, columns: Int32Array) => Finding[] {
  const growthFields = fields.filter(({ name }) => GROWTH_DATAPOINTS.has(name));
  const names = [...new Set(growthFields.map(({ name }) => name))].join(', ');
  const reach = Math.max(0, ...growthFields.map(countReturns));
  const isUnvalued = new Map<CorporateAction, boolean>();
  return (session, columns) => {
    if (reach === 0 || sm.market.adjustment === 'total') return [];
    const { all, starts } = sm.actions;
    const findings: Finding[] = [];
    for (let a = starts[Math.max(0, session - reach + 1)]!; a < starts[session + 1]!; a++) {
      const { action, column, session: at } = all[a]!;
      if (action.type !== 'SPIN_OFF' || !(action.value > 0) || !columns.includes(column)) continue;
      const unvalued = isUnvalued.get(action) ?? Number.isNaN(valueSpinOff(sm.market, action, sm.sessions[at]!));
      isUnvalued.set(action, unvalued);
      if (unvalued) findings.push(reportSpinOff(action, names));
    }
    return findings;
  };
}

/** Returns the number of sessions up to a decision whose returns a datapoint reads. */
function countReturns({ name, lag, window }: FieldRequest): number {
  return lag + (window ?? (isSessionReturn(name) ? 1 : DEFAULT_WINDOW));
}

function reportSpinOff({ identifier, related, exDay }: CorporateAction, names: string): Finding {
  const day = formatDay(exDay);
  const message = `${related ?? 'A security'}, spun off from ${identifier} on ${day}, has no price on that date. Its value is unknown, so the return of ${identifier} on that date counts as 0 (${names}).`;
  return { severity: 'warning', code: 'ACTION_WITHOUT_PRICE', message, path: '', places: [identifier] };
}

export interface LimitInput {
  readonly weighting: WeightingSpec;
  readonly pipeline: Pick<BoundPipeline, 'groupCaps' | 'capBy'>;
  readonly cross: CrossSection;
  /** Columns of the constituents, ascending, [n]. */
  readonly columns: Int32Array;
  /** Raw weights, with sum 1, [n]. */
  readonly raw: Float64Array;
  /** Cap of each constituent by expression, [n]. Null if the weighting states a number or no cap. */
  readonly capOf: Float64Array | null;
}

/** Applies the caps, the floor and the laddered caps of a weighting. */
function limitWeights({ weighting, pipeline, cross, columns, raw, capOf }: LimitInput): CappedOutcome | CapInfeasible {
  const { cap, floor, ladder_caps: ladder } = weighting;
  const groupByPosition = pipeline.capBy === null ? null : computeOwnGroups(cross, pipeline.capBy.field, columns);
  if (ladder !== undefined) return applyLadder({ raw, groupOf: groupByPosition, ladder });
  const groups = computeGroupCaps(pipeline.groupCaps, cross, columns);
  const singleCap = typeof cap === 'number' ? cap : null;
  if (groupByPosition === null && capOf === null) return applyCaps({ raw, cap: singleCap, floor, groups });
  if (groupByPosition === null) {
    const securityCaps: GroupCaps = { groupOf: Int32Array.from(raw.keys()), caps: capOf!, stated: 'cap' };
    return setEffectiveCap(applyCaps({ raw, cap: null, floor, groups: [securityCaps, ...groups] }), securityCaps.caps);
  }
  if (singleCap === null && capOf === null) return applyCaps({ raw, cap: null, floor, groups });
  const groupedCaps: GroupCaps = {
    groupOf: groupByPosition,
    caps: computeCapsByGroup(groupByPosition, capOf, singleCap),
    stated: 'cap',
  };
  return setEffectiveCap(applyCaps({ raw, cap: null, floor, groups: [groupedCaps, ...groups] }), groupedCaps.caps);
}

function setEffectiveCap(outcome: CappedOutcome | CapInfeasible, caps: Float64Array): CappedOutcome | CapInfeasible {
  if (outcome.kind === 'infeasible') return outcome;
  return { ...outcome, cap: caps.reduce((most, cap) => Math.max(most, cap), 0) };
}

/**
 * Returns the cap of each group. It is the stated number, but at least one over the number of groups. Without a stated
 * number, it is the lowest cap of the group's members.
 */
function computeCapsByGroup(groupOf: Int32Array, capOf: Float64Array | null, single: number | null): Float64Array {
  const count = groupOf.reduce((most, group) => Math.max(most, group + 1), 0);
  if (capOf === null) return new Float64Array(count).fill(Math.max(single!, 1 / count));
  const caps = new Float64Array(count).fill(1);
  groupOf.forEach((group, i) => (caps[group] = Math.min(caps[group]!, capOf[i]!)));
  return caps;
}

type Field = NonNullable<BoundPipeline['capBy']>['field'];

/**
 * Returns the group of each security, numbered in order of occurrence, [n]. A security without a value forms a separate
 * group.
 */
function computeOwnGroups(cross: CrossSection, field: Field, columns: Int32Array): Int32Array {
  const { of, names } = cross.groups(field, columns);
  const positions = new Map<number, number>();
  let count = 0;
  return Int32Array.from(of, (group) => {
    if (names[group] === null) return count++;
    const groupPosition = positions.get(group) ?? count++;
    positions.set(group, groupPosition);
    return groupPosition;
  });
}

/** Returns the caps of each grouping of the constituents. Constituents without a value form one group. */
function computeGroupCaps(groupCaps: readonly BoundGroupCap[], cross: CrossSection, columns: Int32Array): GroupCaps[] {
  return groupCaps.map(({ use, cap, groups }) => {
    const groupSet = groups === null ? null : new Set<string | null>(groups);
    const { of, names } = cross.groups(use.field, columns);
    const positions = new Map<number, number>();
    const groupOfName = of.map((group) => {
      if (groupSet !== null && !groupSet.has(names[group]!)) return -1;
      const groupPosition = positions.get(group) ?? positions.size;
      positions.set(group, groupPosition);
      return groupPosition;
    });
    return { groupOf: groupOfName, caps: new Float64Array(positions.size).fill(cap), stated: 'group_caps' };
  });
}

interface CapsToApply extends Pick<SelectionTrace, 'columns' | 'unweighted' | 'uncapped'> {
  /** Caps by expression, as in `LimitInput`. */
  readonly capOf: Float64Array | null;
  /** Constituents whose cap expression has no value. */
  readonly uncappedNames: Int32Array;
}

/**
 * Returns the constituents of a choice with their caps by expression. Constituents with a cap of 0 or less are
 * excluded.
 */
function removeZeroCaps(
  { cross, columns, unweighted, uncapped }: SelectionTrace,
  { cap }: Pick<BoundPipeline, 'cap'>,
): CapsToApply {
  if (cap === null) return { columns, unweighted, uncapped, capOf: null, uncappedNames: new Int32Array(0) };
  const values = cross.numbers(cap.field, columns);
  const isHeld = (_: unknown, i: number): boolean => !(values[i]! <= 0);
  const heldCaps = values.filter(isHeld).map((value) => (Number.isNaN(value) ? 1 : Math.min(value, 1)));
  const uncappedNames = columns.filter((_, i) => Number.isNaN(values[i]!));
  if (heldCaps.length === columns.length) return { columns, unweighted, uncapped, capOf: heldCaps, uncappedNames };
  const raw = uncapped.filter(isHeld);
  const sum = raw.reduce((total, weight) => total + weight, 0);
  const left = columns.filter((column, i) => !isHeld(column, i));
  return {
    columns: columns.filter(isHeld),
    unweighted: Int32Array.from([...unweighted, ...left]).sort(),
    uncapped: raw.map((weight) => weight / sum),
    capOf: heldCaps,
    uncappedNames,
  };
}

interface SuspensionTerms {
  readonly session: number;
  readonly treatment: TreatmentSpec;
  readonly members: ((session: number) => Uint8Array) | undefined;
}

interface SuspendedInput extends SuspensionTerms {
  readonly universe: Int32Array;
  readonly incumbents: ArrayLike<number> | null;
}

/**
 * Adds suspended constituents to a universe. They are selected and weighted at their last prices. Other securities
 * without a price cannot be selected.
 * @returns the universe itself if no constituent is suspended
 */
function addSuspended(sm: SessionMarket, { universe, incumbents, ...terms }: SuspendedInput): Int32Array {
  if (incumbents === null) return universe;
  const stayingColumns = listSuspended(sm, terms, incumbents).filter((column) => !universe.includes(column));
  return stayingColumns.length === 0 ? universe : Int32Array.from([...universe, ...stayingColumns]).toSorted();
}

/** Returns those of some securities that are members of the universe and stay, although no review would select them. */
function listSuspended(
  sm: SessionMarket,
  { session, treatment, members }: SuspensionTerms,
  columns: ArrayLike<number>,
): number[] {
  const [stale, entry] = [countStaleSessions(treatment), readPriceSessions(treatment)];
  if (members === undefined || stale <= entry) return [];
  const suspendedColumns: number[] = [];
  for (let k = 0; k < columns.length; k++) {
    const column = columns[k]!;
    if (sm.isSilent(session, column, entry) && !hasLeftMarket(sm, session, column, stale))
      suspendedColumns.push(column);
  }
  if (suspendedColumns.length === 0) return suspendedColumns;
  const isMember = members(session);
  return suspendedColumns.filter((column) => isMember[column] === 1);
}

interface PoolInput {
  readonly pipeline: BoundPipeline;
  readonly openReview: ReviewOpener;
  readonly market: SessionMarket;
  readonly engine: Engine;
  readonly riskModel: StoredModels;
  readonly universe: (session: number) => Int32Array;
  readonly verdictsOn: (session: number, incumbents: Int32Array | null) => SelectionTrace['verdicts'];
}

/** Creates the pool of securities that may replace constituents between reviews. */
function createPool({ pipeline, openReview, market, engine, riskModel, universe, verdictsOn }: PoolInput): ReviewPool {
  const { identifiers, securityCount } = market;
  const findCrossSection = (session: number, incumbents: Uint8Array | null): CrossSection =>
    openReview(session, { universe: universe(session), incumbents });
  const weigh = (session: number, columns: Int32Array): RawWeights =>
    pipeline.weighting.weigh({ cross: findCrossSection(session, null), columns, identifiers, engine, riskModel });
  const lastRanking = pipeline.rules.findLastIndex(({ rule }) => rule.ranks === true);
  return {
    ranking(session, incumbents) {
      const last = lastRanking < 0 ? undefined : verdictsOn(session, incumbents)[lastRanking];
      if (last === undefined) return new Int32Array(0);
      const { scope, verdict } = last;
      const left = Array.from(scope.columns.keys()).flatMap((position) => {
        const rank = verdict.kept[position] === 1 ? null : verdict.because(position).rank;
        return rank === null ? [] : [{ column: scope.columns[position]!, rank }];
      });
      return Int32Array.from(
        left.toSorted((a, b) => a.rank - b.rank || a.column - b.column),
        ({ column }) => column,
      );
    },
    passes(session, staying, candidate) {
      const columns = Int32Array.from(new Set([...staying, candidate])).toSorted();
      const position = columns.indexOf(candidate);
      const incumbents = flagMembers(staying, securityCount);
      const scope = { cross: findCrossSection(session, incumbents), columns, identifiers, incumbents };
      return pipeline.rules.every(({ rule }) => rule.ranks === true || rule.select(scope).kept[position] === 1);
    },
    values(session, columns) {
      const raw = weigh(session, columns);
      return raw.kind === 'refused' ? new Float64Array(columns.length).fill(Number.NaN) : raw.values;
    },
    fixedShares(session, columns) {
      const raw = weigh(session, columns);
      return raw.kind === 'refused' ? undefined : raw.shares;
    },
    ranked(session, field, { columns, constituents }) {
      const cross = findCrossSection(session, flagMembers(constituents, securityCount));
      const values = readValues({ cross, columns }, useNumber(field));
      return rankPositions(values, selectPositionsWithValue(values, createPositions(columns)), false).map(
        (position) => columns[position]!,
      );
    },
  };
}

type SelectionOutcome = Pick<SelectionTrace, 'cross' | 'verdicts' | 'survivors'> & { readonly pipeline: BoundPipeline };

function refuseNothingSurvives(
  waterfall: readonly WaterfallStep[],
  { cross, pipeline, verdicts }: SelectionOutcome,
): FailedDecision {
  const last = waterfall.find(({ remaining }) => remaining === 0)!;
  if (last.ruleId === null)
    return createUndecided('empty', 'universe', ['The universe contains no security with a price.']);
  const position = last.position - 1;
  const missingInput = {
    cross,
    columns: verdicts[position]!.scope.columns,
    reads: pipeline.rules[position]!.rule.reads,
  };
  const summary = `No security is left after the rule "${last.ruleId}"`;
  return createUndecided(
    'empty',
    `pipeline.selection[${position}]`,
    describeMissing(summary, missingInput),
    last.ruleId,
  );
}

function refuseNothingWeighs({ cross, pipeline, survivors }: SelectionOutcome): FailedDecision {
  const summary = `None of the ${survivors.length} selected securities has a weight: their datapoints are missing or not positive`;
  const missingInput = { cross, columns: survivors, reads: pipeline.weighting.reads };
  return createUndecided('refused', 'pipeline.weighting', describeMissing(summary, missingInput));
}

/**
 * Creates the result of a session without a composition, from a sentence about the reason and a function that returns
 * details. The details are needed only if there is no earlier composition.
 */
function createUndecided(
  kind: FailedDecision['kind'],
  path: string,
  [message, more]: readonly [string, (() => string)?],
  rowId?: string,
): FailedDecision {
  const row = rowId === undefined && kind === 'refused' ? {} : { row_id: rowId ?? null };
  const finding: Finding = { severity: 'error', code: 'NO_WEIGHT_DATA', message, path, ...row };
  const explain = () => {
    const fullFinding = { ...finding, message: `${message}${more!()}` };
    return new Refusal('EMPTY_INDEX', fullFinding.message, { findings: [fullFinding] });
  };
  return { kind, code: 'EMPTY_INDEX', finding, ...(more === undefined ? {} : { explain }) };
}

interface MissingInput {
  readonly cross: CrossSection;
  /** Requested securities, at least one. */
  readonly columns: Int32Array;
  readonly reads: readonly FieldUse[];
}

/** Describes the datapoint that no security has. States the first date on which a security can have it. */
function describeMissing(what: string, { cross, columns, reads }: MissingInput): readonly [string, (() => string)?] {
  const isMissing = ({ field, as, money }: FieldUse) =>
    as === 'number' && (money ? cross.money : cross.numbers)(field, columns).every((value) => Number.isNaN(value));
  const missingField = reads.find(isMissing);
  if (missingField === undefined) return [`${what}.`];
  const text = describeExpression(missingField.field);
  const describeKnown = () => {
    const days = Array.from(columns, (column) => cross.read(missingField.field, column).knownFrom ?? '').filter(
      Boolean,
    );
    return days.length === 0
      ? ''
      : ` It can be known from ${days.toSorted()[0]!} on, because their price bars begin too late.`;
  };
  return [`${what}: none of the ${columns.length} securities has ${text}.`, describeKnown];
}

function refuseCap({ message, stated }: Pick<CapInfeasible, 'message' | 'stated'>): FailedDecision {
  return {
    kind: 'refused',
    code: 'VALIDATION_FAILED',
    finding: { severity: 'error', code: 'CAP_INFEASIBLE', message, path: `pipeline.weighting.${stated}` },
  };
}

const refuseZeroCaps = (count: number): FailedDecision =>
  refuseCap({ message: `The cap of each of the ${count} constituents is 0 or less.`, stated: 'cap' });

/** Maximum number of securities that a message lists. */
const NAMES_LISTED_MAX = 10;

function reportMissingData(columns: Int32Array, identifiers: readonly string[]): Finding {
  return {
    severity: 'warning',
    code: 'NO_WEIGHT_DATA',
    message: `${columns.length} selected ${columns.length === 1 ? 'security has' : 'securities have'} no weight and ${columns.length === 1 ? 'is' : 'are'} not held: ${formatSecurities(columns, identifiers)}.`,
    path: 'pipeline.weighting',
  };
}

function reportWithoutCap(columns: Int32Array, identifiers: readonly string[]): Finding {
  const [count, verb] = columns.length === 1 ? ['1 constituent', 'is'] : [`${columns.length} constituents`, 'are'];
  return {
    severity: 'warning',
    code: 'NO_WEIGHT_DATA',
    message: `${count} without a value of the cap ${verb} not capped: ${formatSecurities(columns, identifiers)}.`,
    path: 'pipeline.weighting.cap',
  };
}

function formatSecurities(columns: Int32Array, identifiers: readonly string[]): string {
  const firstNames = Array.from(columns.subarray(0, NAMES_LISTED_MAX), (column) => identifiers[column]!).join(', ');
  return columns.length > NAMES_LISTED_MAX ? `${firstNames} and ${columns.length - NAMES_LISTED_MAX} more` : firstNames;
}

export interface RuleDecided extends DecidedComposition {
  readonly waterfall: readonly WaterfallStep[];
  /** Securities that pass the rules but have no weight, columns ascending. */
  readonly unweighted: Int32Array;
}

export interface RuleUndecided extends FailedDecision {
  readonly waterfall: readonly WaterfallStep[];
}

export interface RuleDecider extends Decider {
  /** Returns true if the previous composition can affect the decision on a session, by a rule or a suspended member. */
  needsIncumbents(session: number): boolean;
  decide(
    session: number,
    incumbents: ArrayLike<number> | null,
    outgoing?: OutgoingComposition | null,
    among?: Int32Array | null,
  ): RuleDecided | RuleUndecided;
  /** Repeats a decision and returns its full derivation, for an explanation. */
  trace(session: number, incumbents: ArrayLike<number> | null, among?: Int32Array | null): Trace;
}

export function isRuleDecider(decider: Decider): decider is RuleDecider {
  return 'trace' in decider;
}

export interface Trace {
  readonly decision: RuleDecided | RuleUndecided;
  readonly cross: CrossSection;
  readonly pipeline: BoundPipeline;
  readonly verdicts: SelectionTrace['verdicts'];
  /** Securities that pass every rule, columns ascending. */
  readonly survivors: Int32Array;
  readonly raw: RawWeights | undefined;
  readonly capping: CappedOutcome | undefined;
}

export interface CreateDeciderInput {
  readonly document: RuleDocument;
  readonly market: SessionMarket;
  /** Returns the columns of the universe with a price on a session, ascending. */
  readonly universe: (session: number) => Int32Array;
  /**
   * Returns a number for each column on a session: 1 for a member of the universe, with or without a price. If the
   * function is absent, suspended constituents are not kept.
   */
  readonly members?: (session: number) => Uint8Array;
  readonly indexWeights?: IndexWeightsReader;
  /** Returns the columns of the constituents before an earlier review. Null, or absent, if there are none. */
  readonly earlierIncumbents?: (session: number) => Int32Array | null;
  readonly riskModel?: StoredModels;
  /** Engine for matrix products. Default: plain loops. */
  readonly engine?: Engine;
  /** Results shared with other deciders. Default: none. */
  readonly sharing?: DecisionSharing | undefined;
}

/** Results that deciders share if their definitions have common terms. */
export interface DecisionSharing {
  /** Returns the cross-sections of a market. @param reads datapoints to be read */
  sectionsOf(terms: CrossSectionTerms, reads: readonly LocatedUse[]): CrossSections;
  universeOf(
    document: RuleDocument,
    market: SessionMarket,
    ask: (session: number) => Int32Array,
  ): (session: number) => Int32Array;
  /** Returns choices by the selection and weighting of a document. */
  choicesOf(
    document: RuleDocument,
    terms: CrossSectionTerms,
  ): (asked: DecisionInput, make: () => SelectionTrace) => SelectionTrace;
}

/**
 * Creates the decider of a valid document on one market. It reads only data dated on or before the decision session.
 * @throws Refusal VALIDATION_FAILED if the market lacks a datapoint, FX_MISSING from a decision that needs a missing
 * rate
 * @cost per decision: securities * (sum of the windows of all rules) cells
 */
export function createDecider({
  document,
  market,
  universe,
  members,
  indexWeights = refuseIndices,
  earlierIncumbents = () => null,
  riskModel = refuseModels,
  engine = referenceEngine,
  sharing = NO_SHARING,
}: CreateDeciderInput): RuleDecider {
  const pipeline = bindPipeline(document);
  const reads = listReads(pipeline);
  assertNoErrors(`index document ${document.id}`, checkFields(reads, market.market, 'error', pipeline.definitions));
  const terms = {
    market,
    treatment: applyStoreDefaults(document.pipeline.treatment, market.market),
    currency: document.currency,
    datapoints: pipeline.definitions,
  };
  const sections = sharing.sectionsOf(terms, reads);
  const findUniverse = sharing.universeOf(document, market, universe);
  const { definitions } = pipeline;
  const recallsMembers = reads.some(
    ({ use }) => countReviewsBack(use.field, definitions) > 0 && readsConstituents(use.field, definitions),
  );
  const earlierMembers = (session: number): Uint8Array | null => {
    const columns = recallsMembers ? earlierIncumbents(session) : null;
    return columns && flagMembers(columns, market.securityCount);
  };
  const openReview = createReviewOpener({
    document,
    market,
    sections,
    universe: findUniverse,
    indexWeights,
    earlierMembers,
  });
  const asksOthers = reads.some(
    ({ use }) => listIndices(use.field, definitions).length > 0 || countReviewsBack(use.field, definitions) > 0,
  );
  // Choices are not shared, because other definitions may refer to other indices, or have other reviews.
  const choose = asksOthers ? NO_SHARING.choicesOf(document, terms) : sharing.choicesOf(document, terms);
  const traceDecision = (session: number, incumbents: ArrayLike<number> | null, among: Int32Array | null = null) => {
    const universe = among ?? findUniverse(session);
    const suspension = { session, universe, incumbents, treatment: terms.treatment, members };
    const fullUniverse = among === null ? addSuspended(market, suspension) : universe;
    const request = { session, universe: fullUniverse, incumbents: pipeline.remembers ? incumbents : null };
    const makeChoice = (): SelectionTrace =>
      chooseSecurities({ ...request, document, pipeline, market, engine, riskModel, openReview });
    const choice = among === null && fullUniverse === universe ? choose(request, makeChoice) : makeChoice();
    return traceChoice(choice, { document, pipeline, market });
  };
  const listVerdicts = (session: number, incumbents: Int32Array | null) => traceDecision(session, incumbents).verdicts;
  const pool = createPool({
    pipeline,
    openReview,
    market,
    engine,
    riskModel,
    universe: findUniverse,
    verdictsOn: listVerdicts,
  });
  const everyColumn = Int32Array.from(market.identifiers.keys());
  const isRanked = document.events?.replacement === 'next_ranked';
  const expressions = reads.map(({ use }) => use.field);
  const reportSpinOffs = createSpinOffReport(market, listReadsBehind(expressions, pipeline.definitions).fields);
  return {
    needsIncumbents: (session) =>
      pipeline.remembers ||
      listSuspended(market, { session, treatment: terms.treatment, members }, everyColumn).length > 0,
    pool,
    decide(session, incumbents, _outgoing, among) {
      const { decision } = traceDecision(session, incumbents, among);
      if (decision.kind !== 'decided') return decision;
      const findings = [...decision.findings, ...reportSpinOffs(session, among ?? findUniverse(session))];
      // A review that keeps the constituents leaves the ranking of their selection in force.
      if (!isRanked || (among ?? null) !== null) return { ...decision, findings };
      const ranking = pool.ranking(session, incumbents === null ? null : Int32Array.from(incumbents));
      return { ...decision, findings, ranking };
    },
    trace: traceDecision,
  };
}

function refuseIndices(indexId: string): never {
  throw new Error(`the index ${indexId} is not available here`);
}

function refuseModels(modelId: string): never {
  throw new Error(`the risk model ${modelId} is not available here`);
}

const NO_SHARING: DecisionSharing = {
  sectionsOf: createIndexCrossSections,
  universeOf: (_document, _market, ask) => ask,
  choicesOf: () => (_asked, make) => make(),
};

export interface CrossSectionTerms {
  readonly market: SessionMarket;
  readonly treatment: TreatmentSpec;
  /** Currency of the index. */
  readonly currency: string;
  /**
   * Securities read on consecutive sessions, ascending. Their one-year windows are computed as rolling sums; results
   * differ by rounding.
   */
  readonly followed?: Int32Array;
  /** Expressions that the definition contains. Default: none. */
  readonly datapoints?: Definitions;
}

export function createIndexCrossSections({
  market,
  treatment,
  currency,
  followed,
  datapoints = new Map(),
}: CrossSectionTerms): CrossSections {
  const rates = createExchangeRates(market, currency);
  const isForeign = market.identifiers.some((_, column) => !rates.isNative(column));
  const exchange: Series = {
    fill(session, columns, out) {
      for (let i = 0; i < columns.length; i++) out[i] = rates.rateAt(session, columns[i]!);
    },
  };
  const createGrowthReader = (variant: 'total' | 'price') => () =>
    computeGrowth(market, createReturnTerms(treatment, currency, variant));
  // Shares of a rights issue increase a market value, unless the treatment says otherwise.
  const { rights = 'subscribe' } = treatment;
  const holding = createGrowthTerms({ ...treatment, rights }, currency, 'price');
  let valuation: Valuation | undefined;
  const [growth, priceGrowth] = [createGrowthReader('total'), createGrowthReader('price')];
  return createCrossSections(market, {
    exchange: isForeign ? exchange : null,
    growth,
    gaps: () => findReturnGaps(market, growth()),
    price: { growth: priceGrowth, gaps: () => findReturnGaps(market, priceGrowth()) },
    maxStaleSessions: readPriceSessions(treatment),
    suspendedSessions: countStaleSessions(treatment),
    valuation: () => (valuation ??= createValuation(market, holding)),
    followed: followed ?? null,
    datapoints,
    requireRates(session, columns) {
      if (isForeign) for (const column of columns) requireRate(rates, market, session, column);
    },
  });
}

function traceChoice(
  choice: SelectionTrace,
  {
    document,
    pipeline,
    market,
  }: { readonly document: RuleDocument; readonly pipeline: BoundPipeline; readonly market: SessionMarket },
): Trace {
  const { cross, waterfall, verdicts, survivors, raw } = choice;
  const tracedChoice = { cross, pipeline, verdicts, survivors, raw, capping: undefined };
  if (raw === undefined)
    return { ...tracedChoice, decision: { ...refuseNothingSurvives(waterfall, tracedChoice), waterfall } };
  if (raw.kind === 'refused') {
    const { path = '', ...rest } = raw.finding;
    const weightingPath = path === '' ? 'pipeline.weighting' : `pipeline.weighting.${path}`;
    const finding: Finding = { severity: 'error', ...rest, path: weightingPath };
    return { ...tracedChoice, decision: { kind: 'refused', code: raw.code, finding, waterfall } };
  }
  if (choice.columns.length === 0)
    return { ...tracedChoice, decision: { ...refuseNothingWeighs(tracedChoice), waterfall } };

  const { columns, unweighted, uncapped, uncappedNames, capOf } = removeZeroCaps(choice, pipeline);
  if (columns.length === 0)
    return { ...tracedChoice, decision: { ...refuseZeroCaps(choice.columns.length), waterfall } };
  const { weighting } = document.pipeline;
  const capping = limitWeights({ weighting, pipeline, cross, columns, raw: uncapped, capOf });
  if (capping.kind === 'infeasible') return { ...tracedChoice, decision: { ...refuseCap(capping), waterfall } };
  const decision: RuleDecided = {
    kind: 'decided',
    columns,
    weights: capping.weights,
    uncapped,
    cap: capping.cap,
    capped: capping.capped.map((position) => columns[position]!),
    redistributed: capping.redistributed,
    findings: [
      ...(unweighted.length === 0 ? [] : [reportMissingData(unweighted, market.identifiers)]),
      ...(raw.warnings ?? []).map((warning): Finding => ({
        severity: 'warning',
        ...warning,
        path: `pipeline.weighting.${warning.path}`,
      })),
      ...(uncappedNames.length === 0 ? [] : [reportWithoutCap(uncappedNames, market.identifiers)]),
    ],
    // Fixed numbers of shares are kept if no limit changes them.
    ...(keepsShares(document.pipeline.weighting) && isEqual(capping.weights, uncapped)
      ? createBasket(choice, columns, raw)
      : {}),
    ...(changesMembers(document.events) && columns.length === choice.columns.length
      ? computeWorth(document, raw.values, capping)
      : {}),
    waterfall,
    unweighted,
  };
  return { ...tracedChoice, capping, decision };
}

function createBasket(
  { survivors }: SelectionTrace,
  columns: Int32Array,
  { values, shares }: WeighedSecurities,
): Pick<RuleDecided, 'basket' | 'fixedShares'> {
  return {
    basket: values.reduce((sum, value) => sum + value, 0),
    ...(shares === undefined
      ? {}
      : { fixedShares: Float64Array.from(columns, (column) => shares[survivors.indexOf(column)]!) }),
  };
}

/**
 * Returns the market value, or the price, per unit of weight. It is computed from a security whose weight no limit
 * changes.
 */
function computeWorth(
  { pipeline: { weighting } }: RuleDocument,
  values: Float64Array,
  { capped, scaleOf, weights }: CappedOutcome,
): { readonly worth?: number } {
  if (!hasIndependentWeights(weighting)) return {};
  const freePosition = weights.findIndex((_, position) => !capped.includes(position));
  return { worth: values.reduce((sum, value) => sum + value, 0) / (freePosition < 0 ? 1 : scaleOf(freePosition)) };
}
