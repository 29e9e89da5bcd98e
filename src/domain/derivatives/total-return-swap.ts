import type { Calendar } from '../calendars/calendar.js';
import { addMonths, formatDay, toWeekday, type Day } from '../time/days.js';
import { refuseWithFindings, type Refusal } from '../refusals/refusal.js';
import { findFirstAtLeast } from '../numbers/search.js';
import { DAYS_PER_YEAR, MONEY_MARKET_DAYS, type Rates } from './terms.js';

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

/** Value of a swap to the total return receiver. */
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
