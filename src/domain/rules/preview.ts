import type { Composer } from '../books/compositions.js';
import { findSessionWithData } from '../books/due-rebalances.js';
import { decideReview } from '../books/decide-review.js';
import { composeAsKnown } from '../books/known-compositions.js';
import type { DueText } from '../books/due-rebalances.js';
import { findTextInEffect } from '../documents/amended-texts.js';
import { listReviewsDecidedOn } from '../books/rebalance-cause.js';
import { DEFAULT_REVIEW } from '../schedule/review-scopes.js';
import { requireCoveredRange } from '../calendars/covered-range.js';
import type { Day } from '../time/days.js';
import { requireRates } from '../market/exchange-rates.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { isRuleDecider, type RuleDecided, type RuleDecider, type RuleUndecided } from './decide.js';

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
 * Returns the columns of the composition before a decision. Returns null if there is none, or if the rules do not read
 * it.
 */
export function listIncumbents(
  composer: Composer,
  decider: RuleDecider,
  { indexId, session }: { readonly indexId: string; readonly session: number },
): Int32Array | null {
  if (!decider.remembers) return null;
  try {
    return composer.incumbents(indexId, session);
  } catch (failure) {
    // An index without a first composition has no incumbents. The preview still shows what the rules give on the day.
    if (failure instanceof Refusal && (failure.code === 'EMPTY_INDEX' || failure.code === 'NO_DATA_IN_RANGE'))
      return null;
    throw failure;
  }
}
