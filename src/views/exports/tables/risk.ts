import { estimatePeriodsPerYear } from '#domain/calendars/periods-per-year.js';
import { DEFAULT_RISK_WINDOW, computeRollingRisk } from '#domain/analytics/rolling-risk.js';
import { readRunLevels } from '../../run-levels.js';
import { yieldBatches, type Producer } from '../batch.js';
import { createSpan } from '../span.js';

export const produceRisk: Producer<'risk'> = ({ columns, window }, offset) => {
  const { days, level, index } = readRunLevels(columns);
  const result = computeRollingRisk(level, index, { window: DEFAULT_RISK_WINDOW }, estimatePeriodsPerYear(days));
  const shownDays = days.subarray(result.from);
  const { from, to } = createSpan(shownDays, window);
  return yieldBatches<'risk'>(
    {
      count: to - from,
      columns: {
        date: shownDays.subarray(from, to),
        volatility: result.volatility.subarray(from, to),
        index_volatility: result.indexVolatility.subarray(from, to),
        tracking_error: result.trackingError.subarray(from, to),
        beta: result.beta.subarray(from, to),
        correlation: result.correlation.subarray(from, to),
      },
    },
    offset,
  );
};
