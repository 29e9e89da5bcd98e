import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { createLatestRequest, LAG_SESSIONS_MAX } from '../../datapoints/field-request.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { roundUpTolerantly } from '../rounding.js';
import { defineSelectionClass } from '../selection-class.js';
import { keepWithin, describeMissingPolicy } from '../verdicts.js';
import { formatShare } from '../../catalogue/sentence-numbers.js';

export const historyFilter = defineSelectionClass({
  type: 'HistoryFilter',
  label: 'History filter',
  help: 'Keeps securities with price bars on a minimum fraction of the trailing sessions.',
  params: defineObject(() => ({
    sessions: z
      .int()
      .min(1)
      .max(LAG_SESSIONS_MAX)
      .default(252)
      .meta({ label: 'Sessions', help: 'Number of trailing sessions.', unit: 'sessions' }),
    coverage: z
      .number()
      .min(0)
      .max(1)
      .default(0.95)
      .meta({ label: 'Coverage', help: 'Minimum fraction of the sessions with a price bar.', unit: 'fraction' }),
    missing: parameters.missing,
  })),
  example: { id: 'history', type: 'HistoryFilter', params: { sessions: 252, coverage: 0.95 } },
  behaviour({ sessions, coverage, missing }) {
    const field = createLatestRequest('CLOSE', { aggregate: 'count', window: sessions });
    const value = useNumber(field);
    return {
      reads: [value],
      remembers: false,
      sentence: `Keep securities with price bars on at least ${formatShare(coverage)} of the trailing ${sessions} sessions; ${describeMissingPolicy(missing)}.`,
      select(scope) {
        const bars = scope.cross.count(field, scope.columns);
        const bounds = { minimum: roundUpTolerantly(coverage * sessions), maximum: null };
        return keepWithin(scope, {
          values: bars,
          what: `price bars on the trailing ${sessions} sessions`,
          bounds,
          missing,
        });
      },
    };
  },
});
