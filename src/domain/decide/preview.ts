import { Refusal } from '../base/refusals.js';
import type { Day } from '../base/time.js';
import { composeAsKnown, type Composer } from '../books/compositions.js';
import { listReviewsDecidedOn } from '../books/pending-changes.js';
import { type DueText, findSessionWithData } from '../books/rebalance-dates.js';
import { decideReview } from '../books/rebalance.js';
import { requireCoveredRange } from '../calendars/calendar.js';
import type { CrossSection } from '../datapoints/cross-section.js';
import type { ExpectedKind } from '../datapoints/expression-checks.js';
import { type ExpressionNode, TRUE, UNKNOWN } from '../datapoints/expression-tree.js';
import { findTextInEffect } from '../definition/amendments.js';
import { readDefinitions, type RuleDocument } from '../definition/index-document.js';
import { DEFAULT_REVIEW } from '../definition/schedule.js';
import type { ReferenceValue } from '../market/market-data.js';
import { requireRates } from '../market/rates.js';
import type { SessionMarket } from '../market/session-market.js';
import {
  createIndexCrossSections,
  isRuleDecider,
  type RuleDecided,
  type RuleDecider,
  type RuleUndecided,
} from './rule-decider.js';

export interface EvaluationInput {
  /** Document whose terms apply to the datapoints. */
  readonly document: RuleDocument;
  readonly market: SessionMarket;
  readonly session: number;
  /** Columns of the universe, ascending. */
  readonly universe: Int32Array;
  readonly expression: ExpressionNode;
  readonly expects: ExpectedKind;
  /** Requested securities. If the list is empty, the first securities with a value. */
  readonly identifiers: readonly string[];
  readonly most: number;
}

export interface SecurityValue {
  readonly identifier: string;
  /** Value; null if missing. */
  readonly value: ReferenceValue;
}

/** Returns the values of an expression for a few securities, computed across the whole universe. */
export function evaluateDatapoint(input: EvaluationInput): SecurityValue[] {
  const { document, market, session, universe, identifiers, most } = input;
  const sections = createIndexCrossSections({
    market,
    treatment: document.pipeline.treatment,
    currency: document.currency,
    datapoints: readDefinitions(document),
  });
  const values = readValues(sections.at(session, universe), input);
  if (identifiers.length > 0)
    return identifiers.map((identifier) => {
      const column = market.columnOf(identifier);
      return { identifier, value: values[universe.indexOf(column)] ?? null };
    });
  return Array.from(universe, (column, i) => ({ identifier: market.identifiers[column]!, value: values[i]! }))
    .filter(({ value }) => value !== null)
    .slice(0, most);
}

function readValues(
  cross: CrossSection,
  { universe, expression, expects }: EvaluationInput,
): readonly ReferenceValue[] {
  if (expects === 'number') return cross.values(expression, universe);
  return Array.from(cross.truths(expression, universe), (truth) => (truth === UNKNOWN ? null : truth === TRUE));
}

/** Composition of a rule-based index decided on one session. */
export interface RulePreview {
  /** Decision; null before the first market date of the store. */
  readonly resolved: ResolvedPreview | null;
}

export interface ResolvedPreview {
  readonly sm: SessionMarket;
  readonly session: number;
  /** Column indices of the securities in the universe, ascending. */
  readonly universe: Int32Array;
  readonly decision: RuleDecided | RuleUndecided;
}

/**
 * Decides an index on the latest session with data on or before a day. The incumbents are those of the latest rebalance
 * effective before it, computed from the definition. The preview of a decision date therefore equals the decision of
 * the run.
 * @throws Refusal VALIDATION_FAILED if the market lacks a datapoint or the weights cannot be computed, EMPTY_INDEX if
 * no selected security has a weight, FX_MISSING
 */
export function previewRules(composer: Composer, indexId: string, asOf: Day): RulePreview {
  const sm = composer.market(indexId);
  assertCovered(sm);
  const session = findSessionWithData(sm, asOf);
  const amendment = findTextDecidedOn(composer, indexId, { asOf, session });
  const decider = findRuleDecider(composer, indexId, { amendment });
  if (session < 0) return { resolved: null };
  const decision =
    decideFurtherReview(composer, indexId, session) ??
    decider.decide(session, listIncumbents(composer, decider, { indexId, session }));
  if (decision.kind === 'refused')
    throw new Refusal(decision.code as Refusal['code'], decision.finding.message, { findings: [decision.finding] });
  if (decision.kind === 'decided')
    requireRates(sm, decision.columns, { currency: composer.document(indexId).currency, session });
  return { resolved: { sm, session, universe: composer.universe(indexId, session), decision } };
}

/**
 * Returns the index of the version that a review decided on a session follows. Without such a review, returns that of
 * the version in force on a day.
 */
function findTextDecidedOn(
  composer: Composer,
  indexId: string,
  { asOf, session }: { asOf: Day; session: number },
): number {
  const document = composer.document(indexId);
  const [due] = session < 0 ? [] : listReviewsDecidedOn(document, composer.market(indexId), session);
  return due?.amendment ?? findTextInEffect(document, asOf).position;
}

/**
 * Returns the decision of the first review whose reference date is the session. Returns undefined if there is no such
 * review, or if it is the `rebalance` of the document.
 */
function decideFurtherReview(
  composer: Composer,
  indexId: string,
  session: number,
): RuleDecided | RuleUndecided | undefined {
  const [due] = listReviewsDecidedOn(composer.document(indexId), composer.market(indexId), session);
  if (due === undefined || due.review.id === DEFAULT_REVIEW) return undefined;
  const { review, amendment } = due;
  const known = composeAsKnown(composer, indexId) === undefined ? [] : composer.knownBefore(indexId, session);
  const decision = decideReview(composer, {
    indexId,
    review,
    rebalance: { decision: session, session: Math.max(session, known.at(-1)?.session ?? session), amendment },
    known,
  });
  return decision as RuleDecided | RuleUndecided; // Only indices with rules have further reviews.
}

/** Asserts that the calendar covers dates of the store. @throws Refusal CALENDAR_NOT_COVERED if it covers none */
function assertCovered({ market, calendar }: SessionMarket): void {
  const { dates } = market;
  if (dates.length > 0) requireCoveredRange(calendar, dates[0]!, dates.at(-1)!);
}

/**
 * Returns the decider of a rule-based document, with explanations. @throws Refusal NOT_SUPPORTED for a derived index
 */
export function findRuleDecider(composer: Composer, indexId: string, dueText: DueText): RuleDecider {
  const decider = composer.decider(indexId, dueText);
  if (isRuleDecider(decider)) return decider;
  throw new Refusal('NOT_SUPPORTED', `The index ${indexId} is derived by optimisation; its parent has the rules.`);
}

/**
 * Returns the columns of the composition before a decision. Returns null if there is none, or if it cannot affect the
 * decision.
 */
export function listIncumbents(
  composer: Composer,
  decider: RuleDecider,
  { indexId, session }: { readonly indexId: string; readonly session: number },
): Int32Array | null {
  if (!decider.needsIncumbents(session)) return null;
  try {
    return composer.incumbents(indexId, session);
  } catch (failure) {
    // An index without a first composition has no incumbents. The preview still shows what the rules give on the day.
    if (failure instanceof Refusal && (failure.code === 'EMPTY_INDEX' || failure.code === 'NO_DATA_IN_RANGE'))
      return null;
    throw failure;
  }
}

/** Differences between two compositions of a day. */
export interface WeightChange {
  readonly added: readonly WeightDifference[];
  readonly removed: readonly WeightDifference[];
  /** Securities in both compositions whose weights differ by more than rounding errors. */
  readonly changed: readonly WeightDifference[];
  /** One-way turnover: half the sum of the absolute changes. */
  readonly turnover: number;
}

export interface WeightDifference {
  readonly identifier: string;
  readonly before: number;
  readonly after: number;
}

const NO_WEIGHTS: ReadonlyMap<string, number> = new Map();

/** Maximum difference of weights that count as equal. */
const DIFFERENCE_MIN = 1e-15;

/**
 * Compares two previews of one market by identifier. Each list is ordered by identifier. A preview before the first
 * date of the store has no securities.
 */
export function compareCompositions(before: ResolvedPreview | null, after: ResolvedPreview | null): WeightChange {
  const from = before === null ? NO_WEIGHTS : listWeights(before);
  const to = after === null ? NO_WEIGHTS : listWeights(after);
  const names = [...new Set([...from.keys(), ...to.keys()])].sort();
  const changes = names.map((identifier): WeightDifference => ({
    identifier,
    before: from.get(identifier) ?? 0,
    after: to.get(identifier) ?? 0,
  }));
  return {
    added: changes.filter(({ identifier }) => !from.has(identifier)),
    removed: changes.filter(({ identifier }) => !to.has(identifier)),
    changed: changes.filter(
      ({ identifier, before: was, after: is }) =>
        from.has(identifier) && to.has(identifier) && Math.abs(is - was) > DIFFERENCE_MIN,
    ),
    turnover: changes.reduce((total, { before: was, after: is }) => total + Math.abs(is - was), 0) / 2,
  };
}

/** Returns applied weights by identifier; empty if nothing is selected. */
function listWeights({ sm, decision }: ResolvedPreview): ReadonlyMap<string, number> {
  if (decision.kind !== 'decided') return new Map();
  return new Map(
    Array.from(decision.columns, (column, i): [string, number] => [sm.identifiers[column]!, decision.weights[i]!]),
  );
}
