import { DAYS_PER_YEAR, type Rates } from './terms.js';

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
export function selectDividendsUntil(dividends: readonly PointDividend[], days: number): readonly PointDividend[] {
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
