import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useCategory, useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { keepBest, readGroups, keepRanked, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';

export const groupLimit = defineSelectionClass({
  type: 'GroupLimit',
  label: 'Group limit',
  help: 'Keeps a maximum number of securities of each group, which are the best by a field.',
  params: defineObject(() => ({
    field: parameters.fieldName.meta({
      label: 'Field',
      help: 'Column whose values are the groups. Securities without a value form one group.',
    }),
    rank_field: parameters
      .defaultToField('MARKET_CAP')
      .meta({ label: 'Rank field', help: 'Datapoint of the ranking within a group.' }),
    maximum: z
      .int()
      .min(1)
      .max(20_000)
      .meta({ label: 'Maximum', help: 'Maximum number of securities of one group.', unit: 'securities' }),
    missing: parameters.missing,
  })),
  example: { id: 'sector-limit', type: 'GroupLimit', params: { field: 'SECTOR', maximum: 20 } },
  behaviour({ field, rank_field, maximum, missing }) {
    const group = useCategory(field, 'field');
    const value = useNumber(rank_field, 'rank_field');
    return {
      reads: [group, value],
      remembers: false,
      sentence: `Keep at most ${maximum} securities of each ${field}, those with the largest ${nameUsedField(value)}; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select: (scope) =>
        keepRanked(scope, {
          values: readValues(scope, value),
          groups: readGroups(scope, group),
          ascending: false,
          missing,
          what: `${nameUsedField(value)} in its ${field}`,
          choose: (order) => keepBest(order, maximum),
        }),
    };
  },
});
