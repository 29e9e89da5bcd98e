import { RATE_MAX } from '../market/interest-rates.js';
import { LIMITS } from '../refusals/limits.js';
import type { Finding } from '../refusals/findings.js';
import { readPanelRow } from '../market/session-market.js';
import { closeOn } from '../market/series.js';
import { refuseWithFindings } from '../refusals/refusal.js';
import {
  ALL_SECURITIES,
  createResult,
  type AssignedReturn,
  type HeldSecurity,
  type ScenarioMarket,
  type ScenarioResult,
} from './holdings.js';
import { estimateResponse, type Response } from './regression.js';
import type { Shock } from './scenario-request.js';

export interface ShockTerms {
  readonly name: string;
  readonly shocks: Readonly<Record<string, Shock>>;
  readonly regression_sessions: number;
  /** Path in the request, and the reference column of the groups. */
  readonly path: string;
  readonly by: string;
}

/** Series or identifier to which securities respond. A rate has changes in percentage points, not returns. */
interface Factor {
  readonly name: string;
  readonly isRate: boolean;
}

/** Shocks by kind of subject: holdings, groups, and factors. */
interface SortedShocks {
  readonly names: ReadonlyMap<string, number>;
  readonly groups: ReadonlyMap<string, number>;
  readonly factors: readonly Factor[];
  /** Shock of each factor, [K]: a return, or a change in percentage points. */
  readonly moves: Float64Array;
}

/**
 * Computes the effect of shocks on the composition. Shocks of holdings and groups apply directly; the shock of a
 * security takes precedence over that of its group. All other securities respond to shocks of series and of identifiers
 * that are not held. Their response is estimated by a regression of simple session returns with an intercept, on returns
 * of the factors, or on changes of rates in percentage points. A
 * security with too few returns uses the equally weighted response of its group, or of all securities.
 * @throws Refusal VALIDATION_FAILED for a shock of an unknown subject, or collinear factors
 * @cost O(sessions x (securities + K^2 securities))
 */
export function computeShockScenario(market: ScenarioMarket, terms: ShockTerms): ScenarioResult {
  const { held, session, sm } = market;
  const { names, groups, factors, moves } = sortShocks(market, terms);
  const findShock = ({ identifier, group }: HeldSecurity) => names.get(identifier) ?? groups.get(group);
  if (factors.length === 0) {
    const returns = held.map((name): AssignedReturn => ({ value: findShock(name) ?? 0, proxy: null }));
    return { ...createResult(terms.name, held, returns), ...NO_WINDOW, ...NO_REGRESSION };
  }
  const from = Math.max(sm.first + 1, session - terms.regression_sessions + 1);
  const columns = factors.map((factor) => readMoves(market, factor, { from, path: terms.path }));
  assertIndependent(
    columns,
    terms,
    factors.map(({ name }) => name),
  );
  const securityReturns = held.map(({ column }) => (column < 0 ? undefined : readColumnReturns(market, column, from)));
  const responses = securityReturns.map(
    (returns) => returns && estimateResponse(returns, columns, LIMITS.MIN_NAME_OBSERVATIONS),
  );
  const computeResponse = ({ slopes }: Response) => slopes.reduce((sum, slope, k) => sum + slope * moves[k]!, 0);
  const proxies = computeGroupMeans(held, (_, i) => responses[i] && computeResponse(responses[i]));
  const returns = held.map((name, i): AssignedReturn => {
    const struck = findShock(name);
    if (struck !== undefined) return { value: struck, proxy: null };
    const response = responses[i];
    if (response) return { value: computeResponse(response), proxy: null, standardError: response.errorOf(moves) };
    const groupProxy = proxies.get(name.group);
    return {
      value: groupProxy ?? proxies.get(ALL_SECURITIES) ?? 0,
      proxy: groupProxy === undefined ? ALL_SECURITIES : name.group,
    };
  });
  const estimatedReturns = securityReturns.map((returns, i) => (responses[i] ? returns : undefined));
  const regressPortfolio = (weights: readonly number[]) =>
    estimateResponse(computePortfolioReturns(weights, estimatedReturns), columns, LIMITS.MIN_NAME_OBSERVATIONS);
  const response = regressPortfolio(held.map(({ weight }) => weight));
  const responseWeights = computeResponseWeights(
    held,
    (name) => findShock(name) !== undefined,
    (i) => responses[i] !== undefined,
  );
  return {
    ...createResult(terms.name, held, returns),
    ...NO_WINDOW,
    r_squared: response?.rSquared ?? null,
    observations: response?.observations ?? null,
    standard_error: regressPortfolio(responseWeights)?.errorOf(moves) ?? null,
  };
}

/** Returns true if shocks apply only to holdings and their groups, so that nothing is estimated. */
export function isShockedDirectly(market: ScenarioMarket, terms: ShockTerms): boolean {
  return sortShocks(market, terms).factors.length === 0;
}

const NO_WINDOW = { window: null, worst_session: null, worst_sessions: [] } as const;
const NO_REGRESSION = { r_squared: null, observations: null, standard_error: null } as const;

/**
 * Returns the weight of each response in the portfolio return. It is the security's weight if it has no shock, plus its
 * share of the securities that use the mean of their group.
 */
function computeResponseWeights(
  heldSecurities: readonly HeldSecurity[],
  isStruck: (name: HeldSecurity) => boolean,
  hasResponse: (position: number) => boolean,
): number[] {
  const respondingPositions = heldSecurities.flatMap((_, i) => (hasResponse(i) ? [i] : []));
  const weights = heldSecurities.map(() => 0);
  heldSecurities.forEach((name, i) => {
    if (isStruck(name)) return;
    const group = hasResponse(i) ? [i] : respondingPositions.filter((j) => heldSecurities[j]!.group === name.group);
    const recipients = group.length > 0 ? group : respondingPositions;
    for (const j of recipients) weights[j]! += name.weight / recipients.length;
  });
  return weights;
}

function sortShocks({ sm, held }: ScenarioMarket, { shocks, path, by }: ShockTerms): SortedShocks {
  const names = new Map<string, number>();
  const groups = new Map<string, number>();
  const factors: Factor[] = [];
  const moves: number[] = [];
  const findings: Finding[] = [];
  const heldIdentifiers = new Set(held.map(({ identifier }) => identifier));
  const heldGroups = new Set(held.map(({ group }) => group));
  for (const [key, value] of Object.entries(shocks)) {
    const isGroup = key.startsWith(`${by}:`) && heldGroups.has(key.slice(by.length + 1));
    const isRate = typeof value !== 'number';
    if (isRate && (heldIdentifiers.has(key) || isGroup)) findings.push(createRateOfHolding(key, path));
    else if (heldIdentifiers.has(key)) names.set(key, value as number); // checked above
    else if (isGroup) groups.set(key.slice(by.length + 1), value as number);
    else if (sm.market.series?.has(key) || sm.columnOf(key) >= 0) {
      factors.push({ name: key, isRate });
      moves.push(isRate ? value.bps / POINT_BPS : value);
    } else findings.push(createUnknownShock(key, path, by));
  }
  if (findings.length > 0) throw refuseWithFindings('body', findings);
  return { names, groups, factors, moves: Float64Array.from(moves) };
}

/** Basis points of a percentage point. */
const POINT_BPS = 100;

function createRateOfHolding(key: string, path: string): Finding {
  const message = `${key} is held or a group of holdings: its shock is a return, such as -0.1. Basis points apply to a series of rates.`;
  return { severity: 'error', code: 'WRONG_TYPE', message, path: `${path}.shocks.${key}`, value: key };
}

function createUnknownShock(key: string, path: string, by: string): Finding {
  const message = `${key} is not a holding, a group of holdings (${by}:...), a series or an identifier of the data.`;
  return { severity: 'error', code: 'UNKNOWN_IDENTIFIER', message, path: `${path}.shocks.${key}`, value: key };
}

/**
 * Requires enough common returns of the factors, and no collinearity.
 * @throws Refusal VALIDATION_FAILED
 */
function assertIndependent(
  columns: readonly Float64Array[],
  { path, regression_sessions }: ShockTerms,
  factors: readonly string[],
) {
  const completeCount = columns[0]!.filter((_, t) => columns.every((column) => !Number.isNaN(column[t]!))).length;
  const least = Math.max(LIMITS.MIN_NAME_OBSERVATIONS, factors.length + 2);
  const isEnough = completeCount >= least;
  // With a response that has no missing values, collinearity depends only on the factors.
  if (isEnough && estimateResponse(new Float64Array(columns[0]!.length), columns, 1) !== undefined) return;
  const message = isEnough
    ? `The returns of ${factors.join(', ')} are collinear over ${completeCount} sessions.`
    : `${factors.join(', ')} have ${completeCount} common returns in the last ${regression_sessions} sessions; at least ${least} are required.`;
  throw refuseWithFindings('body', [{ severity: 'error', code: 'OUT_OF_RANGE', message, path: `${path}.shocks` }]);
}

/**
 * Returns the moves of a factor from session `from` to the session of the composition, NaN if missing: simple returns,
 * or changes of a rate in percentage points.
 * @throws Refusal VALIDATION_FAILED for returns of a rate, and for a rate that is not in percent
 */
function readMoves(
  market: ScenarioMarket,
  { name, isRate }: Factor,
  { from, path }: { readonly from: number; readonly path: string },
): Float64Array {
  const { sm, session } = market;
  const series = sm.market.series?.get(name);
  const column = sm.columnOf(name);
  const read = (s: number) => (series === undefined ? sm.closeAt(s, column) : closeOn(series, sm.sessions[s]!));
  const levels = Float64Array.from({ length: Math.max(0, session - from + 2) }, (_, k) => read(from - 1 + k));
  const fault = isRate ? findRateFault(name, levels) : findReturnFault(name, levels);
  if (fault !== undefined)
    throw refuseWithFindings('body', [
      { severity: 'error', code: 'OUT_OF_RANGE', message: fault, path: `${path}.shocks.${name}`, value: name },
    ]);
  if (series === undefined && !isRate) return readColumnReturns(market, column, from);
  return Float64Array.from(levels.subarray(1), (level, k) => (isRate ? level - levels[k]! : level / levels[k]! - 1));
}

function findRateFault(name: string, levels: Float64Array): string | undefined {
  const beyond = levels.find((level) => Math.abs(level) > 100 * RATE_MAX);
  return beyond === undefined
    ? undefined
    : `${name} has the value ${beyond}, and a shock in basis points requires a rate in percent per year, at most ${100 * RATE_MAX} in magnitude. State the shock as a return.`;
}

/** Prefix of series of interest rates. */
const RATE_PREFIX = /^RATE_/i;

/**
 * Fraction of the largest value of a series below which another value counts as near zero. Returns are then dominated by
 * the level and not by the change.
 */
const NEAR_ZERO = 0.01;

/** Explains why returns of a series are not meaningful; undefined if they are. */
function findReturnFault(name: string, levels: Float64Array): string | undefined {
  const values = levels.filter((level) => !Number.isNaN(level));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const advice = `State a shock of a rate in basis points, such as { "bps": 100 }.`;
  if (RATE_PREFIX.test(name))
    return `${name} is an interest rate: a return of it is a fraction of its level, not a change in percentage points. ${advice}`;
  if (values.length > 0 && least <= NEAR_ZERO * most)
    return `${name} is between ${least} and ${most} in the sessions of the regression. Returns of values near or below zero have no meaning. ${advice}`;
  return undefined;
}

/**
 * Returns the simple returns of a security from session `from` to the session of the composition. A return is NaN
 * without a price bar on its session or on the previous one.
 */
function readColumnReturns({ sm, growth, session }: ScenarioMarket, column: number, from: number): Float64Array {
  const returns = new Float64Array(Math.max(0, session - from + 1));
  for (let s = from; s <= session; s++) {
    const hasBars = !Number.isNaN(sm.closeAt(s, column)) && !Number.isNaN(sm.closeAt(s - 1, column));
    returns[s - from] = hasBars ? growth[readPanelRow(sm, s) + column]! - 1 : Number.NaN;
  }
  return returns;
}

/**
 * Returns the portfolio returns of the securities with a response and a weight. A return is NaN if any of them has
 * none.
 */
function computePortfolioReturns(
  weights: readonly number[],
  securityReturns: readonly (Float64Array | undefined)[],
): Float64Array {
  const length = securityReturns.find((returns) => returns !== undefined)?.length ?? 0;
  const total = new Float64Array(length);
  securityReturns.forEach((returns, i) => {
    if (returns === undefined || weights[i] === 0) return;
    for (let t = 0; t < length; t++) total[t]! += weights[i]! * returns[t]!;
  });
  return total;
}

/** Returns the equally weighted mean of each group, and of all securities. */
function computeGroupMeans(
  heldSecurities: readonly HeldSecurity[],
  valueOf: (name: HeldSecurity, position: number) => number | undefined,
): ReadonlyMap<string, number> {
  const sums = new Map<string, { sum: number; count: number }>();
  heldSecurities.forEach((name, i) => {
    const value = valueOf(name, i);
    if (value === undefined) return;
    for (const key of [name.group, ALL_SECURITIES]) {
      const groupSum = sums.get(key) ?? { sum: 0, count: 0 };
      sums.set(key, { sum: groupSum.sum + value, count: groupSum.count + 1 });
    }
  });
  return new Map([...sums].map(([key, { sum, count }]) => [key, sum / count]));
}
