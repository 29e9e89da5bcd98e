import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { createLatestRequest } from '../../datapoints/field-request.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { formatBounds, keepWithin, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';

export const liquidityFilter = defineSelectionClass({
  type: 'LiquidityFilter',
  label: 'Liquidity filter',
  help: 'Keeps securities with a minimum daily traded value. A separate minimum can apply to constituents.',
  params: defineObject(() => ({
    minimum: parameters.defineMoneyRequired(
      'Minimum',
      'Minimum daily traded value.',
      'money per day in index currency',
    ),
    window: parameters.defineWindow(60),
    statistic: z
      .enum(['median', 'mean'])
      .default('median')
      .meta({ label: 'Statistic', help: 'Aggregate of the daily values.' }),
    incumbent_minimum: parameters.defineMoneyPerDay(
      'Incumbent minimum',
      'Minimum daily traded value of a constituent. Default: same as for other securities.',
    ),
    missing: parameters.missing,
  })),
  example: {
    id: 'liquid',
    type: 'LiquidityFilter',
    params: { minimum: 5_000_000, window: 60, incumbent_minimum: 3_000_000 },
  },
  behaviour({ minimum, window, statistic, incumbent_minimum, missing }) {
    const value = useNumber(createLatestRequest('VALUE_TRADED', { aggregate: statistic, window }));
    const bounds = { minimum, maximum: null, incumbentMinimum: incumbent_minimum };
    return {
      reads: [value],
      remembers: incumbent_minimum !== null,
      sentence: `Keep securities with a ${nameUsedField(value)} ${formatBounds(bounds)} in index currency; ${describeMissingPolicy(missing)}.`,
      select: (scope) =>
        keepWithin(scope, { values: readValues(scope, value), what: nameUsedField(value), bounds, missing }),
    };
  },
});
