import { findFirstAtLeast } from '../base/numbers.js';
import { Refusal, refuseWithFindings } from '../base/refusals.js';
import { addMonths, type Day, formatDay, toWeekday } from '../base/time.js';
import type { Calendar } from '../calendars/calendar.js';
import { RATE_MAX } from '../market/rates.js';

/** Continuously compounded annual rates, as fractions. */
export interface Rates {
  readonly riskFree: number;
  readonly dividend: number;
  readonly borrow: number;
}

/** Days of a year under ACT/365F, for time to expiry. */
const DAYS_PER_YEAR = 365;
/** Days of a year under ACT/360, for the financing of swaps. */
const MONEY_MARKET_DAYS = 360;

/**
 * Checks that no rate exceeds 1 in magnitude.
 * @throws Refusal RATE_OUT_OF_RANGE for the first rate that does
 */
export function assertRates(rates: Readonly<Record<string, number>>): void {
  for (const [name, rate] of Object.entries(rates)) {
    if (Math.abs(rate) > RATE_MAX) {
      throw new Refusal(
        'RATE_OUT_OF_RANGE',
        `${name} is ${rate}; its absolute value must be at most ${RATE_MAX}. Rates are fractions: 0.05 is 5%.`,
        { field: name, value: rate, limit: RATE_MAX },
      );
    }
  }
}

/**
 * Returns the calendar days from valuation to expiry.
 * @throws Refusal EXPIRY_NOT_AFTER_AS_OF if the number is not positive
 */
export function countDaysTo(expiry: Day, asOf: Day, field = 'expiry'): number {
  if (expiry > asOf) return expiry - asOf;
  throw new Refusal(
    'EXPIRY_NOT_AFTER_AS_OF',
    `${field} ${formatDay(expiry)} is not after the valuation date ${formatDay(asOf)}.`,
    { field, expiry: formatDay(expiry), as_of: formatDay(asOf) },
  );
}

/** Cash dividend in index points, paid between valuation and expiry. */
export interface PointDividend {
  /** Days from valuation to the ex-date. */
  readonly days: number;
  readonly amount: number;
}

export interface ForwardTerms {
  readonly spot: number;
  /** Days from valuation to expiry, positive. */
  readonly days: number;
  readonly rates: Rates;
  /** Discrete dividends. If present, they replace the continuous yield. */
  readonly dividends?: readonly PointDividend[];
}

/** Returns the dividends with an ex-date up to an expiry. */
function selectDividendsUntil(dividends: readonly PointDividend[], days: number): readonly PointDividend[] {
  return dividends.filter((dividend) => dividend.days <= days);
}

/**
 * Components of the difference between a forward and the spot price. Their sum may differ from the total; `residual` is
 * the rest.
 */
export interface Carry {
  readonly borrow: number;
  /** Dividend component; negative, because dividends reduce the forward price. */
  readonly dividend: number;
  readonly financing: number;
  readonly residual: number;
  /** Fair value less spot price. */
  readonly total: number;
}

export interface Forward {
  readonly days: number;
  readonly yearFraction: number;
  /** Sum of the discrete dividends. */
  readonly dividendPoints: number;
  readonly fairValue: number;
  readonly basis: number;
  /** Logarithm of fair value over spot, per year. */
  readonly annualisedCarry: number;
  readonly carry: Carry;
  /** Change of the fair value per point of spot. */
  readonly delta: number;
  /** Change of the fair value per basis point of the risk-free rate. */
  readonly rho: number;
  /** Change of the fair value per basis point of the continuous dividend yield; 0 with discrete dividends. */
  readonly dividendSensitivity: number;
}

const BASIS_POINT = 1e-4;

/**
 * Computes the cost-of-carry value of a forward: `S exp((r - q - b) tau)`, or `(S - sum of discounted dividends) exp((r
 * - b) tau)`.
 * @throws nothing: the caller checks rates and days.
 * @cost O(dividends)
 * @source Hull, Options, Futures and Other Derivatives, chapter 5.
 */
export function priceForward({ spot, days, rates, dividends = [] }: ForwardTerms): Forward {
  const { riskFree: r, borrow: b } = rates;
  const tau = days / DAYS_PER_YEAR;
  const isDiscrete = dividends.length > 0;
  const q = isDiscrete ? 0 : rates.dividend;
  const growth = Math.exp((r - q - b) * tau);

  let discountedDividends = 0;
  let dividendValue = 0;
  let discountedTime = 0;
  for (const dividend of dividends) {
    const time = dividend.days / DAYS_PER_YEAR;
    const presentValue = dividend.amount * Math.exp(-r * time);
    discountedDividends += presentValue;
    discountedTime += presentValue * time;
    dividendValue += dividend.amount * Math.exp(r * (tau - time));
  }

  const fairValue = (spot - discountedDividends) * growth;
  const total = fairValue - spot;
  const financing = spot * Math.expm1(r * tau);
  const dividend = isDiscrete ? -dividendValue : spot * Math.expm1(-q * tau);
  const borrow = spot * Math.expm1(-b * tau);
  return {
    days,
    yearFraction: tau,
    dividendPoints: dividends.reduce((sum, { amount }) => sum + amount, 0),
    fairValue,
    basis: total,
    annualisedCarry: Math.log(fairValue / spot) / tau,
    carry: { borrow, dividend, financing, residual: total - financing - dividend - borrow, total },
    delta: growth,
    rho: BASIS_POINT * (tau * fairValue + discountedTime * growth),
    dividendSensitivity: isDiscrete ? 0 : -BASIS_POINT * tau * fairValue,
  };
}

/**
 * Returns the risk-free rate at which the forward has a market price, with all other terms fixed. Returns null if there
 * is no such rate.
 */
export function solveImpliedRate(terms: ForwardTerms, marketPrice: number): number | null {
  const { spot, days, rates, dividends = [] } = terms;
  if (!(marketPrice > 0)) return null;
  const tau = days / DAYS_PER_YEAR;
  if (dividends.length === 0) return Math.log(marketPrice / spot) / tau + rates.dividend + rates.borrow;
  const priceAtRate = (riskFree: number) => priceForward({ ...terms, rates: { ...rates, riskFree } });
  let rate = Math.log(marketPrice / spot) / tau + rates.borrow;
  for (let iteration = 0; iteration < NEWTON_ITERATIONS; iteration++) {
    const { fairValue, rho } = priceAtRate(rate);
    const step = (fairValue - marketPrice) / (rho / BASIS_POINT);
    rate -= step;
    if (!Number.isFinite(rate)) return null;
    if (Math.abs(step) <= 1e-15 * Math.max(1, Math.abs(rate))) break;
  }
  return Math.abs(priceAtRate(rate).fairValue - marketPrice) <= 1e-9 * marketPrice ? rate : null;
}

/**
 * Maximum number of Newton steps. From the dividend-free rate, four or five steps suffice. If more are needed, there is
 * no root.
 */
const NEWTON_ITERATIONS = 50;

/**
 * Returns the continuous dividend yield at which the forward has a market price, with all other terms fixed. Returns
 * null with discrete dividends.
 */
export function solveImpliedDividendYield(
  { spot, days, rates, dividends = [] }: ForwardTerms,
  marketPrice: number,
): number | null {
  if (dividends.length > 0 || !(marketPrice > 0)) return null;
  return rates.riskFree - rates.borrow - Math.log(marketPrice / spot) / (days / DAYS_PER_YEAR);
}

/**
 * Returns the annualised roll between two expiries, `ln(front / back) / (tau back - tau front)`: positive in
 * backwardation.
 */
export function computeAnnualisedRoll(front: Forward, back: Forward): number {
  return Math.log(front.fairValue / back.fairValue) / (back.yearFraction - front.yearFraction);
}

export interface TermPoint {
  readonly forward: Forward;
  /** Annualised roll from the previous point; null for the first point. */
  readonly rollFromPrevious: number | null;
}

export type TermShape = 'contango' | 'backwardation' | 'flat' | 'mixed';

export interface TermStructure {
  readonly points: readonly TermPoint[];
  readonly shape: TermShape;
}

/** Difference relative to the spot price below which prices count as equal. */
const FLAT_TOLERANCE = 1e-12;

/**
 * Computes the fair values of one index for several expiries.
 * @param days ascending and distinct, all positive.
 */
export function computeTermStructure({
  spot,
  days,
  rates,
  dividends = [],
}: {
  readonly spot: number;
  readonly days: readonly number[];
  readonly rates: Rates;
  /** Discrete dividends up to the last expiry. Each forward uses those with an ex-date up to its own expiry. */
  readonly dividends?: readonly PointDividend[];
}): TermStructure {
  const forwards = days.map((day) =>
    priceForward({ spot, days: day, rates, dividends: selectDividendsUntil(dividends, day) }),
  );
  const points = forwards.map((forward, i) => ({
    forward,
    rollFromPrevious: i === 0 ? null : computeAnnualisedRoll(forwards[i - 1]!, forward),
  }));
  return { points, shape: findShape([spot, ...forwards.map((forward) => forward.fairValue)]) };
}

function findShape(prices: readonly number[]): TermShape {
  const spot = prices[0]!;
  const steps = prices.slice(1).map((price, i) => price - prices[i]!);
  if (steps.every((step) => Math.abs(step) <= FLAT_TOLERANCE * spot)) return 'flat';
  if (steps.every((step) => step > 0)) return 'contango';
  return steps.every((step) => step < 0) ? 'backwardation' : 'mixed';
}

export type ResetFrequency = 'none' | 'monthly' | 'quarterly' | 'semi_annual' | 'annual';

const MONTHS: Record<Exclude<ResetFrequency, 'none'>, number> = {
  monthly: 1,
  quarterly: 3,
  semi_annual: 6,
  annual: 12,
};

/** Maximum number of periods of one swap: 100 years of monthly periods. */
const PERIODS_MAX = 1200;

/**
 * Returns the reset dates strictly after `start`; the last one is the maturity. Steps are whole months from `start`.
 * Each date moves to the next session of the calendar. Without a calendar, or beyond its coverage, it moves to the next
 * weekday.
 * @throws Refusal VALIDATION_FAILED with more than 1,200 periods
 */
export function listResetDates({
  start,
  maturity,
  frequency,
  calendar,
}: {
  readonly start: Day;
  readonly maturity: Day;
  readonly frequency: ResetFrequency;
  readonly calendar: Calendar | undefined;
}): Day[] {
  if (frequency === 'none') return [maturity];
  const resets: Day[] = [];
  for (;;) {
    const reset = rollForward(addMonths(start, (resets.length + 1) * MONTHS[frequency]), calendar);
    if (reset >= maturity) return [...resets, maturity];
    resets.push(reset);
    if (resets.length === PERIODS_MAX) throw refuseTooManyPeriods(frequency, start, maturity);
  }
}

function refuseTooManyPeriods(frequency: ResetFrequency, start: Day, maturity: Day): Refusal {
  const message = `reset_frequency ${frequency} gives more than ${PERIODS_MAX} periods from ${formatDay(start)} to ${formatDay(maturity)}; the maximum is ${PERIODS_MAX}.`;
  return refuseWithFindings('request', [
    { severity: 'error', code: 'OUT_OF_RANGE', path: 'reset_frequency', message, value: frequency },
  ]);
}

function rollForward(day: Day, calendar: Calendar | undefined): Day {
  if (calendar !== undefined && day >= calendar.coverage.from && day <= calendar.coverage.to) {
    const session = calendar.sessions[findFirstAtLeast(calendar.sessions, day)];
    if (session !== undefined) return session;
  }
  const weekday = toWeekday(day);
  return weekday < 5 ? day : day + 7 - weekday;
}

export interface SwapTerms {
  readonly spot: number;
  /** Index level at the start of the current period. */
  readonly initialLevel: number;
  readonly notional: number;
  readonly asOf: Day;
  /** Start of the current period: the effective date, or the latest reset on or before `asOf`. */
  readonly periodStart: Day;
  /** End dates of the current and later periods, ascending, all after `asOf`. */
  readonly periodEnds: readonly Day[];
  readonly returnType: 'total' | 'price';
  readonly rates: Rates;
  /** Spread over the floating rate: simple, ACT/360. */
  readonly spread: number;
}

export interface SwapPeriod {
  readonly start: Day;
  readonly end: Day;
  readonly days: number;
  readonly equity: number;
  readonly financing: number;
  readonly discountFactor: number;
}

export interface SwapValue {
  readonly equityLeg: number;
  readonly financingLeg: number;
  readonly value: number;
  readonly accruedEquity: number;
  readonly accruedFinancing: number;
  /** Spread at which the swap value is zero. */
  readonly parSpread: number;
  /** Change of the swap value per point of spot. */
  readonly delta: number;
  /** Change of the swap value per basis point of the risk-free rate. */
  readonly rho: number;
  readonly periods: readonly SwapPeriod[];
}

/**
 * Values a total return swap with periodic resets on a single flat curve. In the current period, the total return
 * receiver gets the return since the start of the period, and pays a coupon that was fixed at that start for the whole
 * period. Each later period resets to the level at its start.
 * @throws nothing: the caller checks dates and rates.
 * @cost O(periods)
 */
export function valueSwap(terms: SwapTerms): SwapValue {
  const { spot, initialLevel, notional, asOf, periodStart, periodEnds, rates, spread } = terms;
  const { riskFree: r } = rates;
  const leakage = terms.returnType === 'total' ? rates.borrow : rates.dividend + rates.borrow;

  const periods: SwapPeriod[] = [];
  let equityLeg = 0;
  let financingLeg = 0;
  let annuity = 0;
  let rho = 0;
  let delta = 0;
  let start = periodStart;
  let tauStart = 0;
  for (const end of periodEnds) {
    const isCurrent = periods.length === 0;
    const days = end - start;
    const alpha = days / MONEY_MARKET_DAYS;
    const tauEnd = (end - asOf) / DAYS_PER_YEAR;
    const discountStart = Math.exp(-r * tauStart);
    const discountFactor = Math.exp(-r * tauEnd);
    const accrual = isCurrent ? days / DAYS_PER_YEAR : tauEnd - tauStart;
    const retainedFraction = Math.exp(-leakage * (tauEnd - tauStart));
    const floatingInterest = Math.expm1(r * accrual);

    const equity = isCurrent
      ? notional * ((spot / initialLevel) * retainedFraction - discountFactor)
      : notional * (discountStart * retainedFraction - discountFactor);
    const financing = notional * (floatingInterest + spread * alpha) * discountFactor;
    const equitySlope =
      notional * (tauEnd * discountFactor - (isCurrent ? 0 : tauStart * discountStart * retainedFraction));
    const financingSlope =
      notional * discountFactor * (accrual * (floatingInterest + 1) - tauEnd * (floatingInterest + spread * alpha));

    if (isCurrent) delta = (notional / initialLevel) * retainedFraction;
    equityLeg += equity;
    financingLeg += financing;
    annuity += notional * alpha * discountFactor;
    rho += equitySlope - financingSlope;
    periods.push({ start, end, days, equity, financing, discountFactor });
    start = end;
    tauStart = tauEnd;
  }

  const value = equityLeg - financingLeg;
  const fixedPayment =
    Math.expm1((r * (periodEnds[0]! - periodStart)) / DAYS_PER_YEAR) /
    ((periodEnds[0]! - periodStart) / MONEY_MARKET_DAYS);
  return {
    equityLeg,
    financingLeg,
    value,
    accruedEquity: notional * (spot / initialLevel - 1),
    accruedFinancing: (notional * (fixedPayment + spread) * (asOf - periodStart)) / MONEY_MARKET_DAYS,
    parSpread: spread + value / annuity,
    delta,
    rho: rho * 1e-4,
    periods,
  };
}
