import { z } from 'zod';
import { readSecurityCurrency, type RunHeader } from '../backtest/run-file/header.js';
import type { Finding } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { findFirstAtLeast } from '../base/numbers.js';
import { refuseWithFindings } from '../base/refusals.js';
import { defineObject, IsoDate, isReversed } from '../base/schema.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import { createSecurityTerms } from '../market/action-effects.js';
import { computeGrowth } from '../market/growth.js';
import { closeOn, listGroupSpells } from '../market/market-data.js';
import { RATE_MAX } from '../market/rates.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';

/** Holding on the date of a scenario. */
interface HeldSecurity {
  readonly identifier: string;
  readonly weight: number;
  /** Market column; -1 if the market does not contain the security. */
  readonly column: number;
  readonly group: string;
}

export interface ScenarioMarket {
  readonly sm: SessionMarket;
  /** Total-return growth factors in the index currency, [S - first x N]. */
  readonly growth: Float64Array;
  readonly session: number;
  readonly held: readonly HeldSecurity[];
  /** Group of each column of the market on the date of the composition, [N]. */
  readonly groups: readonly string[];
}

/** Effect of one scenario on the composition. */
export interface ScenarioResult {
  readonly name: string;
  /** Sum of the contributions; null for a window outside the data. */
  readonly return: number | null;
  readonly by_name: readonly SecurityResult[];
  readonly by_group: readonly { readonly group: string; readonly weight: number; readonly contribution: number }[];
  /** Fraction of the total absolute weight that is in securities with returns. */
  readonly covered_weight: number;
  /** Securities that use the return of a proxy. */
  readonly proxied: readonly { readonly identifier: string; readonly proxy: string }[];
  readonly window: { readonly start: string; readonly end: string } | null;
  readonly worst_session: SessionReturn | null;
  /** Worst sessions of a window, worst first; empty for shocks. */
  readonly worst_sessions: readonly SessionReturn[];
  /** R-squared of the portfolio's regression. Null without factors or without complete sessions. */
  readonly r_squared: number | null;
  readonly observations: number | null;
  /**
   * Standard error of the return that comes from estimating the responses. Null without factors or without complete
   * sessions.
   */
  readonly standard_error: number | null;
}

interface SessionReturn {
  readonly date: string;
  readonly return: number;
}

export interface SecurityResult {
  readonly identifier: string;
  readonly weight: number;
  readonly return: number;
  readonly contribution: number;
  /** Standard error of a response from a regression. */
  readonly standard_error: number | null;
}

/** Scenario result, with findings on the scenario. */
export interface ScenarioOutcome {
  readonly result: ScenarioResult;
  readonly findings: readonly Finding[];
}

/** Return of a security, and the proxy that provides it. The proxy is null if the return is the security's own. */
interface AssignedReturn {
  readonly value: number;
  readonly proxy: string | null;
  readonly standardError?: number;
}

/** Name of the proxy for a security whose group has no return. */
const ALL_SECURITIES = 'all names';

/** Computes a result from the returns of all holdings: each contribution is weight times return. */
function createResult(
  name: string,
  heldSecurities: readonly HeldSecurity[],
  returns: readonly AssignedReturn[],
): Pick<ScenarioResult, 'name' | 'by_name' | 'by_group' | 'covered_weight' | 'proxied'> & { readonly return: number } {
  const rows = heldSecurities.map(({ identifier, weight }, i): SecurityResult => {
    const { value, standardError = null } = returns[i]!;
    return { identifier, weight, return: value, contribution: weight * value, standard_error: standardError };
  });
  const groups = new Map<string, { group: string; weight: number; contribution: number }>();
  heldSecurities.forEach(({ group, weight }, i) => {
    const sum = groups.get(group) ?? { group, weight: 0, contribution: 0 };
    sum.weight += weight;
    sum.contribution += rows[i]!.contribution;
    groups.set(group, sum);
  });
  const magnitude = heldSecurities.reduce((sum, { weight }) => sum + Math.abs(weight), 0);
  const coveredMagnitude = heldSecurities.reduce(
    (sum, { weight }, i) => (returns[i]!.proxy === null ? sum + Math.abs(weight) : sum),
    0,
  );
  return {
    name,
    return: rows.reduce((sum, { contribution }) => sum + contribution, 0),
    by_name: rows.toSorted((a, b) => a.contribution - b.contribution),
    by_group: [...groups.values()].sort((a, b) => a.contribution - b.contribution),
    covered_weight: magnitude === 0 ? 1 : coveredMagnitude / magnitude,
    proxied: heldSecurities.flatMap(({ identifier }, i) => {
      const { proxy } = returns[i]!;
      return proxy === null ? [] : [{ identifier, proxy }];
    }),
  };
}

/** Linear response to factors, estimated by ordinary least squares with an intercept. */
interface Response {
  /** Slope of each factor, [K]. */
  readonly slopes: Float64Array;
  readonly observations: number;
  /** R-squared; 0 for a constant response. */
  readonly rSquared: number;
  /** Returns the standard error of slopes'x that results from the estimation of the slopes. */
  errorOf(x: Float64Array): number;
}

/**
 * Estimates a response by regression.
 * @param responses [T], NaN if missing
 * @param factors K columns of [T]; rows with a missing value are excluded
 * @returns undefined with fewer than `least` rows, or if the factors are collinear
 */
export function estimateResponse(
  responses: Float64Array,
  factors: readonly Float64Array[],
  least: number,
): Response | undefined {
  const K = factors.length;
  const rows = listCompleteRows(responses, factors);
  const T = rows.length;
  if (T < Math.max(least, K + 2)) return undefined;
  const computeMean = (values: Float64Array) => rows.reduce((sum, t) => sum + values[t]!, 0) / T;
  const centre = factors.map(computeMean);
  const middle = computeMean(responses);
  const computeCrossProduct = (a: Float64Array, meanA: number, b: Float64Array, meanB: number) =>
    rows.reduce((sum, t) => sum + (a[t]! - meanA) * (b[t]! - meanB), 0);
  const moments = new Float64Array(K * K);
  const right = new Float64Array(K);
  for (let i = 0; i < K; i++) {
    right[i] = computeCrossProduct(factors[i]!, centre[i]!, responses, middle);
    for (let j = 0; j <= i; j++) {
      const value = computeCrossProduct(factors[i]!, centre[i]!, factors[j]!, centre[j]!);
      moments[i * K + j] = value;
      moments[j * K + i] = value;
    }
  }
  const root = factorCholesky(moments, K);
  if (root === undefined) return undefined;
  const slopes = solveBackward(root, solveForward(root, right, K), K);
  const total = computeCrossProduct(responses, middle, responses, middle);
  let residualSquares = 0;
  for (const t of rows) {
    let residual = responses[t]! - middle;
    for (let k = 0; k < K; k++) residual -= slopes[k]! * (factors[k]![t]! - centre[k]!);
    residualSquares += residual * residual;
  }
  const variance = residualSquares / (T - K - 1);
  return {
    slopes,
    observations: T,
    rSquared: total === 0 ? 0 : 1 - residualSquares / total,
    errorOf(x) {
      const y = solveForward(root, x, K);
      return Math.sqrt(variance * y.reduce((sum, value) => sum + value * value, 0));
    },
  };
}

function listCompleteRows(responses: Float64Array, factors: readonly Float64Array[]): number[] {
  const rows: number[] = [];
  for (let t = 0; t < responses.length; t++)
    if (!Number.isNaN(responses[t]!) && factors.every((factor) => !Number.isNaN(factor[t]!))) rows.push(t);
  return rows;
}

/** Fraction of a pivot's diagonal element below which the factor is collinear. */
const PIVOT_MIN = 1e-10;

/**
 * Returns the lower Cholesky factor of a symmetric matrix, [K x K]. Returns undefined if a row depends on earlier rows.
 */
function factorCholesky(matrix: Float64Array, K: number): Float64Array | undefined {
  const lower = new Float64Array(K * K);
  for (let i = 0; i < K; i++)
    for (let j = 0; j <= i; j++) {
      let value = matrix[i * K + j]!;
      for (let k = 0; k < j; k++) value -= lower[i * K + k]! * lower[j * K + k]!;
      if (i !== j) lower[i * K + j] = value / lower[j * K + j]!;
      else if (value > PIVOT_MIN * matrix[i * K + i]!) lower[i * K + i] = Math.sqrt(value);
      else return undefined;
    }
  return lower;
}

function solveForward(lower: Float64Array, right: Float64Array, K: number): Float64Array {
  const x = Float64Array.from(right);
  for (let i = 0; i < K; i++) {
    for (let k = 0; k < i; k++) x[i]! -= lower[i * K + k]! * x[k]!;
    x[i]! /= lower[i * K + i]!;
  }
  return x;
}

function solveBackward(lower: Float64Array, right: Float64Array, K: number): Float64Array {
  const x = Float64Array.from(right);
  for (let i = K - 1; i >= 0; i--) {
    for (let k = i + 1; k < K; k++) x[i]! -= lower[k * K + i]! * x[k]!;
    x[i]! /= lower[i * K + i]!;
  }
  return x;
}

/** Maximum number of scenarios in a request, and of shocks in a scenario. */
const SCENARIOS_MAX = 50;
const SHOCKS_MAX = 100;

/** Default number of sessions in a regression. */
const REGRESSION_SESSIONS = 504;

const name = z.string().min(1).max(100);

const WindowScenario = defineObject(() => ({
  name,
  window: z
    .strictObject({ start: IsoDate, end: IsoDate })
    .superRefine(({ start, end }, context) => {
      if (!isReversed({ start, end })) return;
      context.addIssue({
        code: 'custom',
        path: ['end'],
        input: end,
        params: { finding: 'INVALID_RANGE', isWhole: true },
        message: `is ${end}, before start ${start}`,
      });
    })
    .meta({
      description:
        'Past window. The return is that of a buy-and-hold portfolio from the close before `start` to the close of `end`.',
    }),
})).meta({ id: 'WindowScenario' });

/** Maximum change of a rate: the width of the range of rates. */
const BPS_MAX = 20_000;

const RateShock = z
  .strictObject({
    bps: z.number().min(-BPS_MAX).max(BPS_MAX).meta({ description: 'Change of the rate in basis points.' }),
  })
  .meta({ description: 'Shock of an interest rate.' });

const ShockScenario = defineObject(() => ({
  name,
  shocks: z
    .record(z.string().min(1).max(200), z.union([z.number().gt(-1).max(10), RateShock]))
    .refine((shocks) => Object.keys(shocks).length >= 1 && Object.keys(shocks).length <= SHOCKS_MAX, {
      params: { finding: 'OUT_OF_RANGE' },
      error: `must have 1 to ${SHOCKS_MAX} shocks`,
    })
    .meta({
      description:
        'Shocks as returns. A held identifier or a group such as `SECTOR:Energy` applies directly. All other securities respond to a series or another identifier of the data by regression. A rate in percent per year is shocked by basis points, for example `{ "bps": 100 }`.',
    }),
  regression_sessions: z.int().min(60).max(5040).default(REGRESSION_SESSIONS),
})).meta({ id: 'ShockScenario' });

/** Scenarios in a request, or in a table of a report. */
export const ScenarioList = z
  .array(z.union([WindowScenario, ShockScenario]))
  .min(1)
  .max(SCENARIOS_MAX)
  .superRefine((scenarios, context) => {
    const first = new Map<string, number>();
    scenarios.forEach(({ name: scenarioName }, position) => {
      const earlier = first.get(scenarioName);
      if (earlier === undefined) {
        first.set(scenarioName, position);
        return;
      }
      context.addIssue({
        code: 'custom',
        path: [position, 'name'],
        input: scenarioName,
        params: { finding: 'DUPLICATE_ID', isWhole: true },
        message: `is ${scenarioName}, the same name as scenarios[${earlier}].name`,
      });
    });
  });

export const ScenarioRequest = defineObject(() => ({
  as_of: IsoDate.nullable()
    .default(null)
    .meta({ description: 'Date of the composition. Default: the last date of the run.' }),
  by: z.string().min(1).max(64).default('SECTOR').meta({ description: 'Reference column of groups and proxies.' }),
  scenarios: ScenarioList,
})).meta({ id: 'ScenarioRequest' });
export type ScenarioRequest = z.output<typeof ScenarioRequest>;
/** Shock of a subject: a return, or a change of a rate in basis points. */
export type Shock = number | z.output<typeof RateShock>;
export type Scenario = ScenarioRequest['scenarios'][number];

interface ShockTerms {
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
function isShockedDirectly(market: ScenarioMarket, terms: ShockTerms): boolean {
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

const WORST_SESSIONS = 5;

export interface WindowTerms {
  readonly name: string;
  readonly window: { readonly start: string; readonly end: string };
  readonly path: string;
}

/**
 * Computes the return of the composition, bought at the close before a window and held to its end. A security without
 * prices uses the equally weighted value of its group, or of all securities with prices. The return is null without a
 * session before the window, a session in it, and prices. NO_DATA_IN_RANGE then states the range of the data.
 * WINDOW_CUT reports an end after the data.
 * @cost O(sessions of the window x N)
 */
export function computeWindowScenario(market: ScenarioMarket, terms: WindowTerms): ScenarioOutcome {
  const { name, window } = terms;
  const { sm, held } = market;
  const base = sm.sessionAt(parseValidDay(window.start) - 1);
  const last = sm.sessionAt(parseValidDay(window.end));
  if (base < sm.first || last <= base) return createUncoveredResult(market, terms);
  const paths = createValuePaths(market, base, last);
  const length = last - base;
  const value = new Float64Array(length).fill(1);
  const returns: AssignedReturn[] = [];
  for (const { column, group, weight } of held) {
    const columnPath = column < 0 ? undefined : paths.ofColumn(column);
    const path = columnPath ?? paths.ofGroup(group) ?? paths.ofAll();
    if (path === undefined) return createUncoveredResult(market, terms);
    for (let t = 0; t < length; t++) value[t]! += weight * (path[t]! - 1);
    returns.push({
      value: path[length - 1]! - 1,
      proxy: columnPath ? null : paths.ofGroup(group) ? group : ALL_SECURITIES,
    });
  }
  const changes = Array.from(value, (after, t): SessionReturn => ({
    date: formatDay(sm.sessions[base + 1 + t]!),
    return: after / (t === 0 ? 1 : value[t - 1]!) - 1,
  }));
  const worstChanges = changes.toSorted((a, b) => a.return - b.return).slice(0, WORST_SESSIONS);
  const result = {
    ...createResult(name, held, returns),
    window: { start: formatDay(sm.sessions[base]!), end: formatDay(sm.sessions[last]!) },
    worst_session: worstChanges[0]!, // the window has at least one session
    worst_sessions: worstChanges,
    ...NO_REGRESSION,
  };
  return { result, findings: warnOfCutEnd(market, terms) };
}

/** Returns the result for a window outside the data, with a return of null. */
function createUncoveredResult({ sm }: ScenarioMarket, { name, window, path }: WindowTerms): ScenarioOutcome {
  const [first, last] = [sm.sessions[sm.first], sm.sessions.at(-1)].map((day) =>
    day === undefined ? '-' : formatDay(day),
  );
  const message = `The scenario ${name}, from the close before ${window.start} to ${window.end}, is not covered: the data covers ${first} to ${last}.`;
  const result = {
    name,
    return: null,
    by_name: [],
    by_group: [],
    covered_weight: 0,
    proxied: [],
    window: null,
    worst_session: null,
    worst_sessions: [],
    ...NO_REGRESSION,
  };
  const findingLocation = { path: `${path}.window`, value: window };
  return { result, findings: [{ severity: 'warning', code: 'NO_DATA_IN_RANGE', message, ...findingLocation }] };
}

function warnOfCutEnd({ sm }: ScenarioMarket, { name, window, path }: WindowTerms): Finding[] {
  const { sessions, coverage } = sm.calendar;
  const last = sm.sessions.at(-1)!; // a covered window has at least one session
  const end = parseValidDay(window.end);
  if (end <= coverage.to && findFirstAtLeast(sessions, last + 1) === findFirstAtLeast(sessions, end + 1)) return [];
  if (end <= last) return [];
  const message = `The scenario ${name} ends on ${formatDay(last)}, not on ${window.end}: the data contains no later session.`;
  return [{ severity: 'warning', code: 'WINDOW_CUT', message, path: `${path}.window.end`, value: window.end }];
}

interface Paths {
  /** Returns the value of one unit on each session of the window, [length]. Returns undefined without prices. */
  ofColumn(column: number): Float64Array | undefined;
  ofGroup(group: string): Float64Array | undefined;
  ofAll(): Float64Array | undefined;
}

function createValuePaths({ sm, growth, groups }: ScenarioMarket, base: number, last: number): Paths {
  const pathByColumn = new Map<number, Float64Array | undefined>();
  const averages = new Map<string, Float64Array | undefined>();
  const findColumnPath = (column: number): Float64Array | undefined => {
    if (pathByColumn.has(column)) return pathByColumn.get(column);
    const path = computePath(column);
    pathByColumn.set(column, path);
    return path;
  };
  const computePath = (column: number): Float64Array | undefined => {
    if (!sm.isPriceable(base, column, LIMITS.MAX_STALE_SESSIONS)) return undefined;
    const path = new Float64Array(last - base);
    let value = 1;
    for (let session = base + 1; session <= last; session++) {
      const factor = growth[readPanelRow(sm, session) + column]!;
      if (Number.isNaN(factor)) return undefined;
      path[session - base - 1] = value *= factor;
    }
    return path;
  };
  const averagePaths = (key: string, isMember: (column: number) => boolean): Float64Array | undefined => {
    if (averages.has(key)) return averages.get(key);
    const sum = new Float64Array(last - base);
    let count = 0;
    for (let column = 0; column < sm.securityCount; column++) {
      const path = isMember(column) ? findColumnPath(column) : undefined;
      if (path === undefined) continue;
      for (let t = 0; t < sum.length; t++) sum[t]! += path[t]!;
      count++;
    }
    const mean = count === 0 ? undefined : sum.map((value) => value / count);
    averages.set(key, mean);
    return mean;
  };
  return {
    ofColumn: findColumnPath,
    ofGroup: (group) => averagePaths(`group ${group}`, (column) => groups[column] === group),
    ofAll: () => averagePaths('all', () => true),
  };
}

export interface HoldingsOnDate {
  readonly day: Day;
  /** Securities of the run with their weights, 0 if not held. */
  readonly names: readonly string[];
  readonly held: Float64Array;
}

/**
 * Returns the composition and market data for scenarios.
 * @param by reference column that defines the groups
 */
export function createScenarioMarket(
  sm: SessionMarket,
  { header, weights, by }: { readonly header: RunHeader; readonly weights: HoldingsOnDate; readonly by: string },
): ScenarioMarket {
  const { special_dividends: specialDividends, splits } = header.treatment;
  const terms = { ...createSecurityTerms('total', readSecurityCurrency(header)), specialDividends, splits };
  const findGroup = listGroupSpells(sm.market, by);
  const heldSecurities = weights.names.flatMap((identifier, i): HeldSecurity[] =>
    weights.held[i] === 0
      ? []
      : [
          {
            identifier,
            weight: weights.held[i]!,
            column: sm.columnOf(identifier),
            group: findGroup(identifier, weights.day).group,
          },
        ],
  );
  const pricedColumns = heldSecurities.flatMap(({ column }) => (column < 0 ? [] : [column]));
  return {
    sm,
    growth: computeGrowth(sm, terms, pricedColumns),
    session: sm.sessionAt(weights.day),
    held: heldSecurities,
    groups: sm.identifiers.map((identifier) => findGroup(identifier, weights.day).group),
  };
}

/**
 * Computes a scenario of either kind.
 * @throws Refusal VALIDATION_FAILED at its path
 */
export function computeScenario(
  market: ScenarioMarket,
  scenario: Scenario,
  place: { readonly by: string; readonly path: string },
): ScenarioOutcome {
  if ('window' in scenario) return computeWindowScenario(market, { ...scenario, path: place.path });
  const terms = { ...scenario, ...place };
  return { result: computeShockScenario(market, terms), findings: listUnreadSettings(market, terms) };
}

/** Reports settings that have no effect on a shock scenario. */
function listUnreadSettings(market: ScenarioMarket, terms: ShockTerms): Finding[] {
  if (terms.regression_sessions === REGRESSION_SESSIONS || !isShockedDirectly(market, terms)) return [];
  const path = `${terms.path}.regression_sessions`;
  const message = `${path} has no effect, because every shock applies directly to a holding or a group.`;
  return [{ severity: 'warning', code: 'NO_EFFECT', path, message, value: terms.regression_sessions }];
}
