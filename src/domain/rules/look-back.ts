import { readPriceSessions } from '../documents/stale-sessions.js';
import { addMonths, toCivilDate, toDay, type Day } from '../time/days.js';
import type { RuleDocument } from '../documents/index-document.js';
import { bindPipeline, listReads } from './bound-pipeline.js';
import { GROWTH_DATAPOINTS } from '../datapoints/datapoint-sources.js';
import { DEFAULT_WINDOW, isSessionReturn, type FieldRequest } from '../datapoints/field-request.js';
import { YEARS_OF_GROWTH_MAX } from '../datapoints/dividends.js';
import { readsDividendYears, listExpressionReads, type Definitions } from '../datapoints/expressions/reads.js';
import type { SessionMarket } from '../market/session-market.js';
import { findLatestReviews } from './phase-in.js';
import type { DatapointExpression } from '../datapoints/expressions/tree.js';

/** Earliest market data that a decision needs. */
export interface LookBack {
  /** First session whose bars and growth are read; negative if it is before the first session. */
  readonly session: number;
  /** Day after which cash that was paid must be in the market data. */
  readonly paidAfter: Day;
}

export interface LookBackInput {
  readonly document: RuleDocument;
  /** Market on the index calendar. */
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
    decision: findEarliestReview({ document, sm, decision }),
  });
}

/** Returns the session of the earliest review at which a decision reads a phased-in datapoint, or its own session. */
function findEarliestReview({ document, sm, decision }: LookBackInput): number {
  const { phase_in: phaseIn } = document.pipeline.weighting;
  const reviews =
    phaseIn === undefined ? [] : findLatestReviews(document, sm, { session: decision, count: phaseIn.steps });
  return Math.min(decision, ...reviews);
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
