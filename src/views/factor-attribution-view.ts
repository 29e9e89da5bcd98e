import type { FactorAttributionView } from '#contract/analytics/attribution.js';
import { computeReturns } from '#domain/analytics/series.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { formatDay, formatDayTimestamp } from '#domain/time/days.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { ReturnWindow } from '#domain/risk/return-panel.js';
import {
  attributeToFactors,
  type AttributionModel,
  type FactorAttribution,
} from '#domain/risk/factors/factor-attribution.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import type { WithFindings } from './preview.js';
import { readWindow, createWindowSpan, type RequestedWindow } from './run-window.js';

/**
 * Returns the attribution of a window of a stored run to factors.
 * @param market market of the run, with its datapoints
 * @throws Refusal RANGE_TOO_SHORT, TOTAL_LOSS
 */
export function createFactorAttributionView(
  run: RunColumns,
  market: Required<ReturnWindow>,
  { start, end, model }: RequestedWindow & { readonly model: AttributionModel },
): WithFindings<FactorAttributionView> {
  const { header } = run;
  const days = run.i32('days');
  const { from, to } = createWindowSpan(days, { start, end });
  const runWindow = readWindow(run, { from, to }, { follow: false });
  const { sm } = market;
  const endDays = days.subarray(from + 1, to + 1);
  const attribution = attributeToFactors({
    window: market,
    model,
    sessions: endDays.map((day) => findLastAtMost(sm.sessions, day)),
    columns: Int32Array.from(header.names, (name) => sm.columnOf(name)),
    returns: computeReturns(run.f64('level', from, to + 1)),
    days: endDays,
    weightsBefore: (period) => runWindow.weightsAt(period),
  });
  return {
    index_id: header.run_id,
    model,
    factors: attribution.factors.map((factor, k) => ({
      factor,
      average_exposure: attribution.exposures[k]!,
      contribution: attribution.contributions[k]!,
    })),
    specific: attribution.specific,
    other: attribution.other,
    total_return: attribution.totalReturn,
    covered_weight: attribution.coveredWeight,
    periods: to - from,
    reconciles: attribution.reconciles,
    residual: attribution.residual,
    requested_start: start ?? formatDay(days[0]!),
    requested_end: end ?? formatDay(days.at(-1)!),
    start: formatDayTimestamp(days[from + 1]!),
    end: formatDayTimestamp(days[to]!),
    findings: reportUnexplainedMonths(attribution),
  };
}

/** Returns a finding that explains why factor returns are missing for some months. */
function reportUnexplainedMonths({ months, unexplained }: FactorAttribution): Finding[] {
  if (unexplained.length === 0) return [];
  const fewest = unexplained.reduce((least, unexplainedMonth) =>
    unexplainedMonth.names < least.names ? unexplainedMonth : least,
  );
  const message = `In ${unexplained.length} of ${months} months, too few securities of the store have a return on every session for a regression on the factors; the return of these months is in \`other\`. The month with the fewest has ${fewest.names} of ${fewest.needed} required securities.`;
  return [{ severity: 'warning', code: 'TOO_FEW_NAMES', path: 'model', message, count: unexplained.length }];
}
