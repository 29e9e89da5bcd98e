import type { DividendPointsView } from '#contract/analytics/run-views.js';
import type {
  FuturesPriceRequest,
  FuturesPriceResponse,
  RollQuery,
  RollResponse,
  TermStructureQuery,
  TermStructureResponse,
  TrsPriceRequest,
  TrsPriceResponse,
} from '#contract/derivatives.js';
import type { Finding } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { checkFinite } from '#domain/base/schema.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { RunViewTerms } from '#domain/definition/runs.js';
import {
  assertRates,
  computeAnnualisedRoll,
  computeTermStructure,
  countDaysTo,
  type Forward,
  type ForwardTerms,
  listResetDates,
  type PointDividend,
  priceForward,
  type Rates,
  solveImpliedDividendYield,
  solveImpliedRate,
  valueSwap,
} from '#domain/studies/derivatives.js';
import type { Context } from '../shared/context.js';
import type { RunViews } from './views.js';

/** Announced dividends of an index on the last date of its latest run. */
interface AnnouncedDividends {
  readonly asOf: Day;
  readonly dividends: readonly { readonly exDay: Day; readonly points: number }[];
}

/** Parameters of dividends in a request for futures. */
type DividendTerms = Pick<FuturesPriceRequest, 'index_id' | 'dividends' | 'dividend_yield' | 'dividend_source'>;

function readCurveTerms(
  indexId: string,
  query: Pick<RollQuery, 'dividends' | 'dividend_yield' | 'dividend_source'>,
): DividendTerms {
  const { dividend_yield, dividend_source } = query;
  const dividends = query.dividends.map((word) => {
    const [ex_date = '', amount] = word.split(':');
    return { ex_date, amount: Number(amount) };
  });
  return { index_id: indexId, dividends, dividend_yield, dividend_source };
}

/** Days from the valuation of a future to the last expiry. */
interface FutureSpan {
  readonly asOf: Day;
  readonly days: number;
}

/**
 * Returns the dividends that a request contains, if any.
 * @throws Refusal VALIDATION_FAILED if the dividends contradict each other, or are outside the life of the future
 */
function readDividends(request: DividendTerms, { asOf, days }: FutureSpan): PointDividend[] {
  const dividends = request.dividends.map(({ ex_date, amount }) => ({ days: parseValidDay(ex_date) - asOf, amount }));
  const findings: Finding[] = [];
  if (dividends.length > 0 && request.dividend_yield !== 0) {
    findings.push({
      severity: 'error',
      code: 'OUT_OF_RANGE',
      path: 'dividend_yield',
      message: `dividend_yield is ${request.dividend_yield}; with discrete dividends it must be 0.`,
      value: request.dividend_yield,
    });
  }
  dividends.forEach((dividend, i) => {
    if (dividend.days > 0 && dividend.days <= days) return;
    const { ex_date } = request.dividends[i]!;
    findings.push({
      severity: 'error',
      code: 'OUT_OF_RANGE',
      path: `dividends[${i}].ex_date`,
      message: `dividends[${i}].ex_date ${ex_date} is not after the valuation date ${formatDay(asOf)} and at or before the expiry ${formatDay(asOf + days)}.`,
      value: ex_date,
    });
  });
  if (findings.length > 0) throw refuseWithFindings('request', findings);
  return dividends;
}

/**
 * Returns true if a request uses announced dividends. @throws Refusal VALIDATION_FAILED if the request also contains
 * dividends
 */
function isAnnounced(request: DividendTerms): request is DividendTerms & { index_id: string } {
  const { index_id, dividends, dividend_yield, dividend_source } = request;
  if (dividend_source !== 'announced') return false;
  const findings: Finding[] = [];
  const createFinding = (code: Finding['code'], path: string, message: string) =>
    findings.push({ severity: 'error', code, path, message });
  if (index_id === null) createFinding('REQUIRED', 'index_id', 'index_id is required for announced dividends.');
  if (dividends.length > 0)
    createFinding(
      'OUT_OF_RANGE',
      'dividends',
      `dividends has ${dividends.length} entries; with announced dividends it has 0.`,
    );
  if (dividend_yield !== 0)
    createFinding(
      'OUT_OF_RANGE',
      'dividend_yield',
      `dividend_yield is ${dividend_yield}; with announced dividends it is 0.`,
    );
  if (findings.length > 0) throw refuseWithFindings('request', findings);
  return true;
}

/**
 * Returns the announced dividends between valuation and expiry. @throws Refusal VALIDATION_FAILED if the valuation day
 * is not the day for which the dividends were announced
 */
function selectAnnouncedDividends(announcedDividends: AnnouncedDividends, { asOf, days }: FutureSpan): PointDividend[] {
  if (announcedDividends.asOf !== asOf)
    throw refuseWithFindings('request', [
      {
        severity: 'error',
        code: 'OUT_OF_RANGE',
        path: 'as_of',
        message: `as_of ${formatDay(asOf)} is not ${formatDay(announcedDividends.asOf)}, the last date of the run, on which dividends are known.`,
        value: formatDay(asOf),
      },
    ]);
  return announcedDividends.dividends
    .map(({ exDay, points }) => ({ days: exDay - asOf, amount: points }))
    .filter((dividend) => dividend.days <= days);
}

/**
 * Returns a function that lists the announced dividends of an index after the last date of its latest run. It is for
 * indices whose level does not include dividends.
 * @param terms terms of the dividend points view
 */
export function fetchAnnouncedDividends(
  views: Pick<RunViews, 'show'>,
  terms: RunViewTerms,
): (indexId: string) => Promise<AnnouncedDividends> {
  return async (indexId) => {
    const { bytes } = await views.show(
      { terms, name: indexId, query: {}, format: 'json', body: () => undefined },
      AbortSignal.timeout(ANSWER_MS),
    );
    const { variant, withholding_tax, as_of, announced } = JSON.parse(
      new TextDecoder().decode(bytes),
    ) as DividendPointsView; // the view wrote this JSON
    const isNetOfTax = variant === 'net' && withholding_tax !== 0;
    if (variant !== 'price' && !isNetOfTax)
      throw refuseWithFindings('request', [
        {
          severity: 'error',
          code: 'NOT_IN_CHOICES',
          path: 'dividend_source',
          message: `${indexId} reinvests dividends (${variant} return): its level loses none of them.`,
          accepted: ['given'],
          value: 'announced',
        },
      ]);
    return {
      asOf: parseValidDay(as_of),
      dividends: announced.dividends.map(({ ex_date, points, net_points }) => ({
        exDay: parseValidDay(ex_date),
        points: isNetOfTax ? points - net_points : points, // withheld tax
      })),
    };
  };
}

/** Maximum time for which a request waits for a view. */
const ANSWER_MS = 60_000;

/**
 * Index levels of the latest stored run, in points. For a derived index, these are the levels of the derived portfolio.
 */
export interface IndexLevelHistory {
  /** MIC of the calendar of the run. */
  readonly calendar: string;
  readonly days: ArrayLike<Day>;
  readonly levels: ArrayLike<number>;
}

export interface Derivatives {
  priceFutures(request: FuturesPriceRequest): Promise<FuturesPriceResponse>;
  priceTrs(request: TrsPriceRequest): Promise<TrsPriceResponse>;
  roll(indexId: string, query: RollQuery): Promise<RollResponse>;
  termStructure(indexId: string, query: TermStructureQuery): Promise<TermStructureResponse>;
}

interface Spot {
  readonly spot: number;
  readonly asOf: Day;
  readonly levels: IndexLevelHistory | undefined;
}

/**
 * Creates the service that prices derivatives on index levels. It computes with a few numbers and answers at once.
 * @param readLevels returns the levels of an index. @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND
 * @param announcedDividends returns the announced dividends of an index. @throws Refusal STORE_MISMATCH,
 * NO_DATA_SOURCE, VARIANT_NOT_AVAILABLE, and the refusal of an index that reinvests dividends
 */
export function createDerivatives(
  { calendars }: Context,
  readLevels: (indexId: string) => Promise<IndexLevelHistory>,
  announcedDividends: (indexId: string) => Promise<AnnouncedDividends>,
): Derivatives {
  async function readSpot(indexId: string, asOf: string | null | undefined): Promise<Spot> {
    return findSpot(await readLevels(indexId), indexId, asOf);
  }

  async function resolveSpot(request: {
    index_id: string | null;
    spot: number | null;
    as_of: string | null;
  }): Promise<Spot> {
    const findings = findSourceFaults(request);
    if (findings.length > 0) throw refuseWithFindings('request', findings);
    if (request.index_id !== null) return readSpot(request.index_id, request.as_of);
    return { spot: request.spot!, asOf: parseValidDay(request.as_of!), levels: undefined };
  }

  /** Returns the discrete dividends up to the last expiry. */
  async function listDividends(terms: DividendTerms, life: FutureSpan): Promise<readonly PointDividend[]> {
    const pointDividends = readDividends(terms, life);
    return isAnnounced(terms)
      ? selectAnnouncedDividends(await announcedDividends(terms.index_id), life)
      : pointDividends;
  }

  return {
    async priceFutures(request) {
      const rates = createRates(request);
      const { spot, asOf } = await resolveSpot(request);
      const expiry = parseValidDay(request.expiry);
      const days = countDaysTo(expiry, asOf);
      const dividends = await listDividends(request, { asOf, days });
      const terms = { spot, days, rates, dividends };
      const forward = priceForward(terms);
      assertPositive(forward, spot);
      const { market_price: market, cash_rates: cashRates } = request;
      if (cashRates !== null) assertCashRates(cashRates);
      return assertFinite({
        index_id: request.index_id,
        requested_as_of: request.as_of,
        as_of: formatDay(asOf),
        expiry: request.expiry,
        spot,
        ...toForwardFields(forward),
        notional: request.contracts * request.multiplier * forward.fairValue,
        delta: forward.delta,
        rho: forward.rho,
        dividend_sensitivity: forward.dividendSensitivity,
        mispricing: market === null ? null : market - forward.fairValue,
        implied_rate: market === null ? null : solveImpliedRate(terms, market),
        implied_dividend_yield: market === null ? null : solveImpliedDividendYield(terms, market),
        no_arbitrage: cashRates && describeArbitrage(terms, cashRates, market),
      });
    },

    async priceTrs(request) {
      const rates = createRates(request);
      assertRates({ spread: request.spread });
      return priceSwap(request, { rates, ...(await resolveSpot(request)), calendars });
    },

    async roll(indexId, query) {
      const rates = createRates(query);
      const { spot, asOf } = await readSpot(indexId, query.as_of);
      const frontDay = parseValidDay(query.front_expiry);
      const backDay = parseValidDay(query.back_expiry);
      if (backDay <= frontDay)
        throw new Refusal(
          'EXPIRY_ORDER',
          `back_expiry ${query.back_expiry} is not after front_expiry ${query.front_expiry}.`,
          { front_expiry: query.front_expiry, back_expiry: query.back_expiry },
        );
      const daysToExpiry = [countDaysTo(frontDay, asOf, 'front_expiry'), countDaysTo(backDay, asOf, 'back_expiry')];
      const dividends = await listDividends(readCurveTerms(indexId, query), { asOf, days: daysToExpiry[1]! });
      const { points } = computeTermStructure({ spot, days: daysToExpiry, rates, dividends });
      const [near, far] = points.map(({ forward }) => forward) as [Forward, Forward]; // one forward per expiry
      for (const forward of [near, far]) assertPositive(forward, spot);
      return assertFinite({
        index_id: indexId,
        as_of: formatDay(asOf),
        spot,
        front_expiry: query.front_expiry,
        back_expiry: query.back_expiry,
        front_price: near.fairValue,
        back_price: far.fairValue,
        front_dividend_points: near.dividendPoints,
        back_dividend_points: far.dividendPoints,
        roll_cost: far.fairValue - near.fairValue,
        annualised_roll: computeAnnualisedRoll(near, far),
      });
    },

    async termStructure(indexId, query) {
      const rates = createRates(query);
      const { spot, asOf } = await readSpot(indexId, query.as_of);
      const expiries = query.expiries.map(parseValidDay).toSorted((a, b) => a - b);
      const days = expiries.map((expiry) => countDaysTo(expiry, asOf, 'expiries'));
      const dividends = await listDividends(readCurveTerms(indexId, query), { asOf, days: days.at(-1)! });
      const { points, shape } = computeTermStructure({ spot, days, rates, dividends });
      for (const { forward } of points) assertPositive(forward, spot);
      return assertFinite({
        index_id: indexId,
        requested_as_of: query.as_of ?? null,
        as_of: formatDay(asOf),
        spot,
        risk_free_rate: query.risk_free_rate,
        dividend_yield: query.dividend_yield,
        borrow_rate: query.borrow_rate,
        points: points.map(({ forward, rollFromPrevious }, i) => ({
          expiry: formatDay(expiries[i]!),
          ...toForwardFields(forward),
          roll_from_previous: rollFromPrevious,
        })),
        shape,
      });
    },
  };
}

/** Finds the level on a date. If no date is given, the last level is used. @throws Refusal NO_DATA_AT_DATE */
function findSpot(levels: IndexLevelHistory, indexId: string, asOf: string | null | undefined): Spot {
  const position = asOf == null ? levels.days.length - 1 : findLastAtMost(levels.days, parseValidDay(asOf));
  const firstDay = levels.days[0];
  if (position < 0 || firstDay === undefined) {
    throw new Refusal(
      'NO_DATA_AT_DATE',
      `as_of ${asOf} is before the first level of ${indexId}, ${firstDay === undefined ? 'which has none' : formatDay(firstDay)}.`,
    );
  }
  return { spot: levels.levels[position]!, asOf: levels.days[position]!, levels };
}

interface SwapTerms extends Spot {
  readonly rates: ReturnType<typeof createRates>;
  readonly calendars: Calendars;
}

/** Values a total return swap on its valuation date. @throws Refusal VALIDATION_FAILED, NO_DATA_AT_DATE */
function priceSwap(request: TrsPriceRequest, { spot, asOf, levels, rates, calendars }: SwapTerms): TrsPriceResponse {
  const start = parseValidDay(request.start);
  const maturity = parseValidDay(request.maturity);
  countDaysTo(maturity, asOf, 'maturity');
  if (start > asOf)
    throw refuseWithFindings('request', [
      {
        severity: 'error',
        code: 'OUT_OF_RANGE',
        path: 'start',
        message: `start ${request.start} is after the valuation date ${formatDay(asOf)}.`,
        value: request.start,
      },
    ]);
  const calendar = levels && calendars.get(levels.calendar);
  const resetDays = listResetDates({ start, maturity, frequency: request.reset_frequency, calendar });
  const pastResets = resetDays.filter((day) => day <= asOf);
  const periodStart = pastResets.at(-1) ?? start;
  const initialLevel =
    request.initial_level ?? (levels === undefined ? spot : findLevel(levels, periodStart, request.index_id!));
  const swap = valueSwap({
    spot,
    initialLevel,
    notional: request.notional,
    asOf,
    periodStart,
    periodEnds: resetDays.slice(pastResets.length),
    returnType: request.return_type,
    rates,
    spread: request.spread,
  });
  const sign = request.direction === 'receive' ? 1 : -1;
  return assertFinite({
    index_id: request.index_id,
    requested_as_of: request.as_of,
    as_of: formatDay(asOf),
    start: request.start,
    maturity: request.maturity,
    direction: request.direction,
    return_type: request.return_type,
    spot,
    initial_level: initialLevel,
    notional: request.notional,
    value: sign * swap.value,
    equity_leg: swap.equityLeg,
    financing_leg: swap.financingLeg,
    accrued_equity: swap.accruedEquity,
    accrued_financing: swap.accruedFinancing,
    par_spread: swap.parSpread,
    delta: sign * swap.delta,
    rho: sign * swap.rho,
    periods: swap.periods.map((period) => ({
      start: formatDay(period.start),
      end: formatDay(period.end),
      days: period.days,
      equity: period.equity,
      financing: period.financing,
      discount_factor: period.discountFactor,
    })),
  });
}

function toForwardFields(forward: Forward) {
  return {
    days: forward.days,
    year_fraction: forward.yearFraction,
    fair_value: forward.fairValue,
    basis: forward.basis,
    annualised_carry: forward.annualisedCarry,
    carry: forward.carry,
    dividend_points: forward.dividendPoints,
  };
}

function createRates(request: { risk_free_rate: number; dividend_yield: number; borrow_rate: number }): Rates {
  const { risk_free_rate, dividend_yield, borrow_rate } = request;
  assertRates({ risk_free_rate, dividend_yield, borrow_rate });
  return { riskFree: risk_free_rate, dividend: dividend_yield, borrow: borrow_rate };
}

function findSourceFaults({
  index_id,
  spot,
  as_of,
}: {
  index_id: string | null;
  spot: number | null;
  as_of: string | null;
}): Finding[] {
  if ((index_id === null) === (spot === null)) {
    const message =
      index_id === null ? 'One of index_id and spot is required.' : 'Only one of index_id and spot may be given.';
    return [{ severity: 'error', code: index_id === null ? 'REQUIRED' : 'OUT_OF_RANGE', message, path: 'spot' }];
  }
  if (spot !== null && as_of === null)
    return [{ severity: 'error', code: 'REQUIRED', message: 'as_of is required with spot.', path: 'as_of' }];
  return [];
}

/** Checks that a fair value is positive. Cash dividends can exceed the spot price; a dividend yield cannot. */
function assertPositive({ fairValue, delta }: Forward, spot: number): void {
  if (!(fairValue <= 0 && delta > 0)) return;
  throw new Refusal(
    'NUMERIC_FAILURE',
    `The dividends are worth ${spot - fairValue / delta} on the valuation date; less than the spot of ${spot} is needed.`,
  );
}

/**
 * Checks that all numbers of a response are finite. @throws Refusal NUMERIC_FAILURE that contains the first number that
 * is not finite
 */
function assertFinite<T>(answer: T): T {
  const [first] = checkFinite(answer);
  if (first === undefined) return answer;
  throw new Refusal(
    'NUMERIC_FAILURE',
    `${first.path} would not be finite: the rates over this number of days, or the amounts, exceed the range of a double.`,
    { field: first.path },
  );
}

function findLevel({ days, levels }: IndexLevelHistory, day: Day, indexId: string): number {
  const position = findLastAtMost(days, day);
  if (position >= 0) return levels[position]!;
  throw new Refusal(
    'NO_DATA_AT_DATE',
    `start ${formatDay(day)} is before the first level of ${indexId}, ${formatDay(days[0]!)}; give initial_level.`,
  );
}

type CashRates = NonNullable<FuturesPriceRequest['cash_rates']>;

/** @throws Refusal RATE_OUT_OF_RANGE, VALIDATION_FAILED if cash is lent at a higher rate than it is borrowed */
function assertCashRates({ borrowing, lending }: CashRates): void {
  assertRates({ 'cash_rates.borrowing': borrowing, 'cash_rates.lending': lending });
  if (lending <= borrowing) return;
  const message = `cash_rates.lending is ${lending}, more than cash_rates.borrowing, which is ${borrowing}: lending borrowed cash would be an arbitrage.`;
  throw new Refusal('VALIDATION_FAILED', message, {
    findings: [{ severity: 'error', code: 'OUT_OF_RANGE', path: 'cash_rates.lending', message, value: lending }],
  });
}

/** Returns the prices without arbitrage. An owner of the securities does not pay for borrowing them. */
function describeArbitrage(terms: ForwardTerms, { borrowing, lending }: CashRates, market: number | null) {
  const { rates } = terms;
  const upper = priceForward({ ...terms, rates: { ...rates, riskFree: borrowing, borrow: 0 } }).fairValue;
  const lower = priceForward({ ...terms, rates: { ...rates, riskFree: lending } }).fairValue;
  const position = market === null ? null : market < lower ? 'below' : market > upper ? 'above' : 'within';
  return { lower, upper, market: position } as const;
}
