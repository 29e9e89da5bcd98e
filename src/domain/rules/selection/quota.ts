import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useCategory, useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { keepBest, readGroups, keepRanked, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';

/** Maximum number of groups per rule. */
const GROUPS_MAX = 1000;

export const quota = defineSelectionClass({
  type: 'Quota',
  label: 'Quotas',
  help: 'Keeps a number of securities of each group, which are the best by a field. Groups without a quota are excluded.',
  params: defineObject(() => ({
    field: parameters.fieldName.meta({ label: 'Field', help: 'Column whose values are the groups.' }),
    quotas: z
      .record(z.string().min(1).max(200), z.int().min(0).max(20_000))
      .refine((quotas) => Object.keys(quotas).length > 0, {
        params: { finding: 'OUT_OF_RANGE' },
        error: 'has no group; at least 1 is required',
      })
      .refine((quotas) => Object.keys(quotas).length <= GROUPS_MAX, { error: `has more than ${GROUPS_MAX} groups` })
      .meta({ label: 'Quotas', help: 'Number of securities by group.', unit: 'securities' }),
    rank_field: parameters
      .defaultToField('MARKET_CAP')
      .meta({ label: 'Rank field', help: 'Datapoint of the ranking within a group.' }),
    ascending: parameters.ascending,
    missing: parameters.missing,
  })),
  example: {
    id: 'by-sector',
    type: 'Quota',
    params: { field: 'SECTOR', quotas: { Financials: 10, Technology: 15 }, rank_field: 'FREE_FLOAT_MARKET_CAP' },
  },
  behaviour({ field, quotas, rank_field, ascending, missing }) {
    const group = useCategory(field, 'field');
    const value = useNumber(rank_field, 'rank_field');
    const counts = new Map<string | null, number>(Object.entries(quotas));
    const list = Object.entries(quotas)
      .map(([name, count]) => `${count} of ${name}`)
      .join(', ');
    return {
      reads: [group, value],
      ranks: true,
      remembers: false,
      sentence: `Of each ${field} keep the securities with the ${ascending ? 'smallest' : 'largest'} ${nameUsedField(value)}: ${list}; other groups are excluded; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select(scope) {
        const groups = readGroups(scope, group);
        const values = readValues(scope, value);
        const countByPosition = new Int32Array(values.length);
        for (const [name, members] of groups)
          for (const position of members) countByPosition[position] = counts.get(name) ?? 0;
        return keepRanked(scope, {
          values,
          groups,
          ascending,
          missing,
          what: `${nameUsedField(value)} in its ${field}`,
          choose: (order) => keepBest(order, order.length === 0 ? 0 : countByPosition[order[0]!]!),
        });
      },
    };
  },
});
