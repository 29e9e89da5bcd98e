import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { LAG_SESSIONS_MAX } from '../../datapoints/field-request.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { formatBounds, keepWithin, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';

export const seasoningFilter = defineSelectionClass({
  type: 'SeasoningFilter',
  label: 'Seasoning filter',
  help: 'Keeps securities that have been trading for a minimum time.',
  params: defineObject(() => ({
    sessions: z
      .int()
      .min(0)
      .max(LAG_SESSIONS_MAX)
      .default(63)
      .meta({ label: 'Sessions', help: 'Minimum number of sessions since the first price bar.', unit: 'sessions' }),
    missing: parameters.missing,
  })),
  example: { id: 'seasoned', type: 'SeasoningFilter', params: { sessions: 63 } },
  behaviour({ sessions, missing }) {
    const value = useNumber('AGE');
    const bounds = { minimum: sessions, maximum: null };
    return {
      reads: [value],
      remembers: false,
      sentence: `Keep securities with an ${nameUsedField(value)} ${formatBounds(bounds)} sessions since their first price bar; ${describeMissingPolicy(missing)}.`,
      select: (scope) =>
        keepWithin(scope, { values: readValues(scope, value), what: nameUsedField(value), bounds, missing }),
    };
  },
});
