import { defineObject } from '../../schema/define-object.js';
import { useCategory, useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { keepBest, readGroups, keepRanked, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';

export const topN = defineSelectionClass({
  type: 'TopN',
  label: 'Best by a field',
  help: 'Keeps the securities with the best values of a field, overall or in each group.',
  params: defineObject(() => ({
    field: parameters.defaultToField('MARKET_CAP'),
    count: parameters.count,
    ascending: parameters.ascending,
    group_by: parameters.groupBy,
    missing: parameters.missing,
  })),
  example: { id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 100 } },
  behaviour({ field, count, ascending, group_by, missing }) {
    const value = useNumber(field, 'field');
    const group = group_by === null ? null : useCategory(group_by, 'group_by');
    return {
      reads: [value, ...(group === null ? [] : [group])],
      ranks: true,
      remembers: false,
      sentence: `Keep the ${count} securities with the ${ascending ? 'smallest' : 'largest'} ${nameUsedField(value)}${group_by === null ? '' : ` in each ${group_by}`}; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select: (scope) =>
        keepRanked(scope, {
          values: readValues(scope, value),
          groups: readGroups(scope, group),
          ascending,
          missing,
          what: nameUsedField(value),
          choose: (order) => keepBest(order, count),
        }),
    };
  },
});
