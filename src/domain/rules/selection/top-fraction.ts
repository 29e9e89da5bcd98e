import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useCategory, useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { roundUpTolerantly } from '../rounding.js';
import { defineSelectionClass } from '../selection-class.js';
import { keepBest, readGroups, keepRanked, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';
import { formatShare } from '../../catalogue/sentence-numbers.js';

export const topFraction = defineSelectionClass({
  type: 'TopFraction',
  label: 'Best fraction by a field',
  help: 'Keeps the best fraction of the securities by a field, rounded up, overall or in each group.',
  params: defineObject(() => ({
    field: parameters.field,
    fraction: z
      .number()
      .gt(0)
      .max(1)
      .meta({ label: 'Fraction', help: 'Fraction of the ranked securities that is kept.', unit: 'fraction' }),
    ascending: parameters.ascending,
    group_by: parameters.groupBy,
    missing: parameters.missing,
  })),
  example: { id: 'value', type: 'TopFraction', params: { field: 'DIVIDEND_YIELD', fraction: 0.3, group_by: 'SECTOR' } },
  behaviour({ field, fraction, ascending, group_by, missing }) {
    const value = useNumber(field, 'field');
    const group = group_by === null ? null : useCategory(group_by, 'group_by');
    return {
      reads: [value, ...(group === null ? [] : [group])],
      ranks: true,
      remembers: false,
      sentence: `Keep ${formatShare(fraction)} of the securities with the ${ascending ? 'smallest' : 'largest'} ${nameUsedField(value)}${group_by === null ? '' : ` in each ${group_by}`}, rounded up; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select: (scope) =>
        keepRanked(scope, {
          values: readValues(scope, value),
          groups: readGroups(scope, group),
          ascending,
          missing,
          what: nameUsedField(value),
          choose: (order) => keepBest(order, roundUpTolerantly(fraction * order.length), 'fraction'),
        }),
    };
  },
});
