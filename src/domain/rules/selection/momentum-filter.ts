import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { createLatestRequest, LAG_SESSIONS_MAX } from '../../datapoints/field-request.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { formatBounds, keepWithin, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';

export const momentumFilter = defineSelectionClass({
  type: 'MomentumFilter',
  label: 'Momentum filter',
  help: 'Keeps securities with a minimum total return over a window that skips the latest sessions. The return includes the growth over missing price bars.',
  params: defineObject(() => ({
    window: parameters
      .defineWindow(252)
      .meta({ label: 'Window', help: 'Number of trailing sessions before the skipped sessions.', unit: 'sessions' }),
    skip: z
      .int()
      .min(0)
      .max(LAG_SESSIONS_MAX)
      .default(21)
      .meta({ label: 'Skip', help: 'Number of latest sessions that are skipped.', unit: 'sessions' }),
    minimum: z
      .number()
      .min(-1)
      .max(1e6)
      .default(0)
      .meta({ label: 'Minimum', help: 'Minimum return over the window.', unit: 'fraction' }),
    missing: parameters.missing,
  })),
  example: { id: 'winners', type: 'MomentumFilter', params: { window: 252, skip: 21, minimum: 0 } },
  behaviour({ window, skip, minimum, missing }) {
    const value = useNumber(createLatestRequest('MOMENTUM', { window, lag: skip }));
    const bounds = { minimum, maximum: null };
    return {
      reads: [value],
      remembers: false,
      sentence: `Keep securities with a ${nameUsedField(value)}, ${formatBounds(bounds)}; ${describeMissingPolicy(missing)}.`,
      select: (scope) =>
        keepWithin(scope, { values: readValues(scope, value), what: nameUsedField(value), bounds, missing }),
    };
  },
});
