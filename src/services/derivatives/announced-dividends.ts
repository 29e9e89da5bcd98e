import type { DividendPointsView } from '#contract/analytics/dividend-points.js';
import { parseValidDay } from '#domain/time/days.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { RunViewTerms } from '#domain/run-views/terms.js';
import type { RunViews } from '../runs/run-views.js';
import type { AnnouncedDividends } from './futures-dividends.js';

/**
 * Returns a function that lists the announced dividends of an index after the last date of its latest run. It is for
 * indices whose level does not include dividends.
 * @param terms terms of the dividend points view
 */
export function listAnnouncedDividends(
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
