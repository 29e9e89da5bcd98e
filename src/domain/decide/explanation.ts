import { Refusal } from '../base/refusals.js';
import type { Day } from '../base/time.js';
import { composeFirstRebalance } from '../books/composer.js';
import {
  composeAsKnown,
  type Composer,
  type Composition,
  type Compositions,
  isReview,
  refuseBeforeFirstRebalance,
  restoreDecided,
} from '../books/compositions.js';
import { findPresence, type ConstituentPresence } from '../books/constituent-changes.js';
import { simulateIndexBook } from '../books/index-run.js';
import { type NamedSwap, resolveSwaps } from '../books/pending-changes.js';
import { findSessionWithData } from '../books/rebalance-dates.js';
import { findSelection } from '../books/rebalance.js';
import { findIncumbents } from '../books/universe.js';
import type { DatapointDates } from '../datapoints/cross-section.js';
import { describeExpression } from '../datapoints/expression-text.js';
import { type DatapointExpression, isField } from '../datapoints/expression-tree.js';
import { findReview, findTextInForce, type IndexText } from '../definition/amendments.js';
import { listReads } from '../definition/rule-pipeline.js';
import { DEFAULT_REVIEW, findCompositionDate } from '../definition/schedule.js';
import type { Reason } from '../definition/selection.js';
import type { ReferenceValue } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';
import { findRuleDecider } from './preview.js';
import type { Trace } from './rule-decider.js';

export interface ExplainedWeighting {
  readonly formula: string;
  readonly parts: Readonly<Record<string, number | string | null>>;
  /** Raw weight before normalisation. */
  readonly raw: number;
  /** Sum of the raw weights of all securities. */
  readonly rawTotal: number;
  /** Weight before limits: raw / rawTotal. */
  readonly uncapped: number;
}

interface ExplainedCapping {
  readonly cap: number | null;
  readonly floor: number;
  /** Factor before clipping: weight = min(cap, max(floor, scale * uncapped)). */
  readonly scale: number;
  readonly capped: boolean;
  /** Rounds of redistribution under a single cap. */
  readonly rounds: readonly { readonly scale: number; readonly joined: readonly string[] }[];
}

interface ExplainedDrift {
  /** Weight held at the close of the session; null if the security is no longer held. */
  readonly held: number | null;
  /** Held weight less applied weight. */
  readonly change: number;
}

/** Weight of a security in the composition in force and in the index on a day. */
export interface Holding extends ConstituentPresence {
  /** Session of the explanation. */
  readonly asOf: Day;
  /** Effective date of the composition in force. */
  readonly rebalance: Day;
  /** Session whose data the decision used. */
  readonly decision: Day;
  /** Ids of the reviews that decided the composition, in order. */
  readonly reviews: readonly string[];
  /**
   * Fraction of the decided weights that remained on the effective date. With an effective lag, securities may leave
   * before that date. The applied weight is the decided weight divided by this fraction.
   */
  readonly stayed: number;
  /**
   * Decided weight. Present if it was converted into index shares before the effective close; the applied weight is the
   * value of these shares. Otherwise null.
   */
  readonly decidedWeight: number | null;
  /** Applied weight; null if the composition excludes the security. */
  readonly weight: number | null;
  readonly drift: ExplainedDrift | null;
  /** Changes between reviews, up to the session, by which the security entered or left. */
  readonly swaps: readonly NamedSwap[];
}

/** Derivation of a weight, from the data to the weight held on the day. */
export interface Explanation extends Holding {
  readonly inUniverse: boolean;
  readonly datapoints: readonly ExplainedDatapoint[];
  /** Rules up to and including the rule that removed the security. */
  readonly rules: readonly ExplainedRule[];
  /** Id of the rule that removed the security; null if none did. */
  readonly excludedBy: string | null;
  readonly weighting: ExplainedWeighting | null;
  readonly capping: ExplainedCapping | null;
}

export interface ExplainedDatapoint {
  /** Path in the definition. */
  readonly path: string;
  readonly field: string;
  readonly value: ReferenceValue;
  readonly read: DatapointDates;
}

export interface ExplainedRule {
  readonly position: number;
  readonly ruleId: string;
  readonly ruleType: string;
  /** True if the security was in the previous composition. */
  readonly constituent: boolean;
  readonly kept: boolean;
  readonly reason: Reason;
}

export interface SecurityQuestion {
  readonly column: number;
  readonly asOf: Day;
}

/**
 * Explains the weight of one security in the composition of a rule-based index in force on a day. If an index has no
 * composition, explains the result of its first rebalance.
 * @throws Refusal NO_DATA_AT_DATE before the first rebalance, and the refusals of running the definition
 * @cost cost of running the definition up to the day
 */
export function explainConstituent(composer: Composer, indexId: string, question: SecurityQuestion): Explanation {
  const inForce = findCompositionOrEmpty(composer, indexId, question.asOf);
  if (inForce === 'empty') return explainEmpty(composer, indexId, question);
  const { compositions, composition, before } = inForce;
  const reference = findSelection(composition);
  const selectingPosition = before.findIndex((one) => findSelection(one).decision === reference.decision);
  const selectingComposition = before[selectingPosition] ?? composition;
  const known = selectingPosition < 0 ? before : before.slice(0, selectingPosition);
  const incumbents = findIncumbents(composer, { indexId, known }, reference.decision);
  const dueText = { review: reference.review, amendment: findText(composer, indexId, selectingComposition).position };
  const selection = findRuleDecider(composer, indexId, dueText).trace(reference.decision, incumbents);
  const trace = traceWeighting(composer, indexId, composition) ?? selection;
  const { decision } = trace;
  const decidedComposition = decision.kind === 'decided' ? decision : undefined;
  return {
    ...findHolding(inForce, question.column, decidedComposition),
    ...createChain(selection, compositions.sm, question.column, incumbents),
    ...(trace === selection ? {} : explainWeighting(trace, compositions.sm, question.column)),
  };
}

/** Returns the derivation of the latest review that reweighted the constituents. Returns undefined if there is none. */
function traceWeighting(composer: Composer, indexId: string, composition: Composition): Trace | undefined {
  const { document, position: amendment } = findText(composer, indexId, composition);
  const review = findReview(document, composition.reviews?.at(-1));
  if (review.scope === 'membership') return undefined;
  const { columns } = restoreDecided(composition);
  return findRuleDecider(composer, indexId, { review: review.id, amendment }).trace(
    composition.decision,
    columns,
    columns,
  );
}

/** Returns the version of the definition that decided a composition. */
function findText(composer: Composer, indexId: string, { session }: Composition): IndexText {
  const { calendar, sessions } = composer.market(indexId);
  return findTextInForce(composer.document(indexId), calendar, sessions[session]! + 1);
}

/** Returns weighting and capping by a review of current constituents, with the datapoints read. */
function explainWeighting(trace: Trace, sm: SessionMarket, column: number): Partial<IndexChain> {
  const { datapoints, weighting, capping } = createChain(trace, sm, column);
  return { datapoints, weighting, capping };
}

function findCompositionOrEmpty(composer: Composer, indexId: string, asOf: Day): RulesInForce | 'empty' {
  try {
    return findComposition(composer, indexId, asOf);
  } catch (failure) {
    if (failure instanceof Refusal && failure.code === 'EMPTY_INDEX') return 'empty';
    throw failure;
  }
}

/**
 * Explains the first rebalance if it produced no composition. The explanation ends with the rule that excluded the
 * security.
 */
function explainEmpty(composer: Composer, indexId: string, { column, asOf }: SecurityQuestion): Explanation {
  const sm = composer.market(indexId);
  const { date, decision } = composeFirstRebalance(composer, { indexId, until: asOf });
  const chain = createChain(findRuleDecider(composer, indexId, {}).trace(decision, null), sm, column);
  const emptyFields = {
    held: null,
    entered: null,
    left: null,
    order: null,
    weight: null,
    drift: null,
    stayed: 1,
    decidedWeight: null,
    swaps: [],
  };
  const days = {
    asOf: sm.sessions[findSessionWithData(sm, asOf)]!,
    rebalance: date,
    decision: sm.sessions[decision]!,
    reviews: [DEFAULT_REVIEW],
  };
  return { ...emptyFields, ...days, ...chain };
}

/** Composition in force on a session. */
export interface RulesInForce {
  readonly compositions: Compositions;
  readonly session: number;
  readonly composition: Composition;
  /** Compositions up to the session. */
  readonly before: readonly Composition[];
}

/**
 * Returns the composition in force on a day. @throws Refusal NO_DATA_AT_DATE before the first rebalance, and the
 * refusals of running the definition
 */
export function findComposition(composer: Composer, indexId: string, asOf: Day): RulesInForce {
  const compositions = composeAsKnown(composer, indexId);
  const session = compositions === undefined ? -1 : findSessionWithData(compositions.sm, asOf);
  const list = compositions?.list ?? [];
  const position = list.findLastIndex((composition) => composition.session <= session);
  const composition = list[position];
  if (compositions === undefined || composition === undefined)
    throw refuseBeforeFirstRebalance(`The index ${indexId}`, composer.document(indexId), asOf);
  return { compositions, session, composition, before: list.slice(0, position) };
}

/**
 * Returns the weight of a security in the composition in force, and its drift since then.
 * @param decided weights as decided, before any security left
 */
export function findHolding(
  { compositions, session, composition }: RulesInForce,
  column: number,
  decided: Pick<Composition, 'columns' | 'weights'> | undefined,
): Holding {
  const { sm } = compositions;
  const weight = findWeight(composition, column);
  const presence = findPresence(simulateIndexBook({ compositions, to: session }), compositions, column);
  const { held } = presence;
  const identifier = sm.identifiers[column]!;
  const swaps = compositions.list
    .filter((one) => one.session <= session)
    .flatMap((one) => resolveSwaps(one, sm))
    .filter(({ entered, left }) => entered === identifier || left === identifier);
  return {
    ...presence,
    asOf: sm.sessions[session]!,
    rebalance: findCompositionDate(composition, sm.sessions, sm.sessions[session]!),
    decision: sm.sessions[composition.decision]!,
    reviews: composition.reviews ?? [DEFAULT_REVIEW],
    stayed:
      decided === undefined || composition.targets || !isReview(composition)
        ? 1
        : computeRemainingShare(decided, composition, (weight ?? 0) < 0),
    decidedWeight: composition.targets ? findWeight(composition.targets, column) : null,
    weight,
    drift: session === composition.session ? null : { held, change: (held ?? 0) - (weight ?? 0) },
    swaps,
  };
}

/** Returns the fraction of the decided weight of one side, long or short, whose securities are in the composition. */
function computeRemainingShare(
  { columns, weights }: Pick<Composition, 'columns' | 'weights'>,
  composition: Composition,
  isShort: boolean,
): number {
  if (columns.length === composition.columns.length) return 1;
  const stays = new Set(composition.columns);
  const sumSide = (counts: (column: number) => boolean): number =>
    weights.reduce((sum, weight, i) => (weight < 0 === isShort && counts(columns[i]!) ? sum + weight : sum), 0);
  return sumSide((column) => stays.has(column)) / sumSide(() => true);
}

export function findWeight(
  { columns, weights }: Pick<Composition, 'columns' | 'weights'>,
  column: number,
): number | null {
  const position = columns.indexOf(column);
  return position < 0 ? null : weights[position]!;
}

type IndexChain = Pick<Explanation, 'inUniverse' | 'datapoints' | 'rules' | 'excludedBy' | 'weighting' | 'capping'>;

function createChain(
  { cross, pipeline, verdicts, survivors, raw, capping, decision }: Trace,
  sm: SessionMarket,
  column: number,
  incumbents: Int32Array | null = null,
): IndexChain {
  const constituent = incumbents?.includes(column) ?? false;
  const isInUniverse = cross.universe.includes(column);
  const rules: ExplainedRule[] = [];
  let excludedBy: string | null = null;
  for (const [i, { scope, verdict }] of verdicts.entries()) {
    const position = scope.columns.indexOf(column);
    if (position < 0) break;
    const { id: ruleId, type: ruleType } = pipeline.rules[i]!;
    const isKept = verdict.kept[position] === 1;
    rules.push({ position: i + 1, ruleId, ruleType, constituent, kept: isKept, reason: verdict.because(position) });
    if (!isKept) excludedBy = ruleId;
  }
  const datapoints = isInUniverse
    ? listReads(pipeline)
        .filter(({ path }) => isReached(path, rules.length, excludedBy))
        .map(({ use, path }) => ({
          path,
          field: describeExpression(use.field),
          value: readValue(cross, use.field, { column, among: findScope(path, verdicts) ?? survivors }),
          read: cross.read(use.field, column),
        }))
    : [];
  const survivorPosition = survivors.indexOf(column);
  const chain = { inUniverse: isInUniverse, datapoints, rules, excludedBy };
  if (survivorPosition < 0 || raw?.kind !== 'weighed') return { ...chain, weighting: null, capping: null };
  const total = raw.values.reduce((sum, value) => sum + value, 0);
  const value = raw.values[survivorPosition]!;
  const weighting: ExplainedWeighting = {
    formula: pipeline.phaseIn === null ? pipeline.weighting.formula : `(${pipeline.weighting.formula}) * phase_in`,
    parts: raw.parts?.(survivorPosition) ?? {},
    raw: value,
    rawTotal: total,
    uncapped: value / total,
  };
  if (decision.kind !== 'decided' || capping === undefined) return { ...chain, weighting, capping: null };
  const slot = decision.columns.indexOf(column);
  if (slot < 0) return { ...chain, weighting, capping: null };
  const formatSecurity = (position: number) => sm.identifiers[decision.columns[position]!]!;
  return {
    ...chain,
    weighting,
    capping: {
      cap: capping.cap,
      floor: capping.floor,
      // The scale is relative to all selected securities with a weight. These include constituents that their cap
      // excludes.
      scale: capping.scaleOf(slot) * (pipeline.cap === null ? 1 : decision.uncapped[slot]! / weighting.uncapped),
      capped: capping.capped.includes(slot),
      rounds: capping.rounds.map(({ scale, joined }) => ({ scale, joined: joined.map(formatSecurity) })),
    },
  };
}

/** Returns true if the row of a path was evaluated for the security, because no earlier rule removed it. */
function isReached(path: string, ruleCount: number, excludedBy: string | null): boolean {
  const row = /^pipeline\.selection\[(\d+)\]/.exec(path);
  return row === null ? excludedBy === null : Number(row[1]) < ruleCount;
}

/** Returns the securities to which the rule of a path was applied. Returns undefined for the weighting. */
function findScope(path: string, verdicts: Trace['verdicts']): Int32Array | undefined {
  const row = /^pipeline\.selection\[(\d+)\]/.exec(path);
  return row === null ? undefined : verdicts[Number(row[1])]?.scope.columns;
}

interface RequestedValue {
  readonly column: number;
  /** Securities across which the expression was evaluated. */
  readonly among: Int32Array;
}

/** Returns the value of a datapoint for one security, without its transform, which the rule reports itself. */
function readValue(
  cross: Trace['cross'],
  field: DatapointExpression,
  { column, among }: RequestedValue,
): ReferenceValue {
  if (isField(field)) return cross.values({ ...field, transform: 'none' }, Int32Array.of(column))[0]!;
  return cross.values(field, among)[among.indexOf(column)] ?? null;
}
