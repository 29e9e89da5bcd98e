import { periodsPerYear } from '#domain/calendars/periods-per-year.js';
import { DEFAULT_RISK_WINDOW, rollingRisk } from '#domain/analytics/rolling-risk.js';
import { runLevels } from '../../run-levels.js';
import { yieldBatches, type Producer } from '../batch.js';
import { spanOf } from '../span.js';

export const risk: Producer<'risk'> = ({ columns, window }, at) => {
  const { days, level, index } = runLevels(columns);
  const result = rollingRisk(level, index, { window: DEFAULT_RISK_WINDOW }, periodsPerYear(days));
  const shown = days.subarray(result.from);
  const { from, to } = spanOf(shown, window);
  return yieldBatches<'risk'>(
    {
      count: to - from,
      columns: {
        date: shown.subarray(from, to),
        volatility: result.volatility.subarray(from, to),
        index_volatility: result.indexVolatility.subarray(from, to),
        tracking_error: result.trackingError.subarray(from, to),
        beta: result.beta.subarray(from, to),
        correlation: result.correlation.subarray(from, to),
      },
    },
    at,
  );
};
