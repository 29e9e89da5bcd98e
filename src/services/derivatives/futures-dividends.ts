import type { FuturesPriceRequest, RollQuery } from '#contract/derivatives.js';
import { parseValidDay, formatDay, type Day } from '#domain/time/days.js';
import type { PointDividend } from '#domain/derivatives/forward.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';

/** Announced dividends of an index on the last date of its latest run. */
export interface AnnouncedDividends {
  readonly asOf: Day;
  readonly dividends: readonly { readonly exDay: Day; readonly points: number }[];
}

/** Parameters of dividends in a request for futures. */
export type DividendTerms = Pick<FuturesPriceRequest, 'index_id' | 'dividends' | 'dividend_yield' | 'dividend_source'>;

/** Returns the dividend terms of a curve from its query parameters. */
export function readCurveTerms(
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
export interface FutureSpan {
  readonly asOf: Day;
  readonly days: number;
}

/**
 * Returns the dividends that a request contains, if any.
 * @throws Refusal VALIDATION_FAILED if the dividends contradict each other, or are outside the life of the future
 */
export function readDividends(request: DividendTerms, { asOf, days }: FutureSpan): PointDividend[] {
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
export function isAnnounced(request: DividendTerms): request is DividendTerms & { index_id: string } {
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
export function selectAnnouncedDividends(
  announcedDividends: AnnouncedDividends,
  { asOf, days }: FutureSpan,
): PointDividend[] {
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
