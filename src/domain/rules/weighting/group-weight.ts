import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useCategory, useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { readGroups, readValues } from '../verdicts.js';
import { createWeights, defineWeightingClass } from '../weighting-class.js';

interface Group {
  readonly name: string | null;
  /** Weight of the group before normalisation over all groups. */
  readonly weight: number;
  /** Sum of the weights within the group. */
  readonly total: number;
}

export const groupWeight = defineWeightingClass({
  type: 'GroupWeight',
  label: 'Group weight',
  help: 'Sets the weights of groups first, and then the weights of the securities within each group.',
  params: defineObject(() => ({
    field: parameters.fieldName.meta({
      label: 'Field',
      help: 'Column whose values are the groups. Securities without a value form one group.',
    }),
    between: z
      .enum(['equal', 'market_cap', 'fixed'])
      .default('equal')
      .meta({ label: 'Between groups', help: 'Weighting of the groups. market_cap uses the free float.' }),
    group_weights: z.record(z.string(), z.number().min(0).max(1e15)).nullable().default(null).meta({
      label: 'Group weights',
      help: 'Weight of each group if the weights are fixed. A group without a weight is not held.',
      unit: 'fraction',
    }),
    within: z.enum(['equal', 'market_cap']).default('market_cap').meta({
      label: 'Within groups',
      help: 'Weighting of the securities in a group. market_cap uses the free float.',
    }),
  })).refine(({ between, group_weights }) => between !== 'fixed' || group_weights !== null, {
    path: ['group_weights'],
    params: { finding: 'MISSING_PARAMETER' },
    error: 'is required if the groups are fixed',
  }),
  example: { type: 'GroupWeight', params: { field: 'SECTOR', between: 'equal', within: 'market_cap' } },
  behaviour({ field, between, group_weights, within }) {
    const group = useCategory(field, 'field');
    const size = useNumber('FREE_FLOAT_MARKET_CAP');
    const readsSize = between === 'market_cap' || within === 'market_cap';
    const groupPhrases = Object.entries(group_weights ?? {})
      .map(([name, weight]) => `${name} ${weight}`)
      .join(', ');
    const schemePhrases = {
      equal: 'equally',
      market_cap: 'by free-float market capitalisation',
      fixed: `as given (${groupPhrases})`,
    };
    return {
      reads: [group, ...(readsSize ? [size] : [])],
      sentence: `The groups of ${field} are weighted ${schemePhrases[between]}, and the securities within a group ${schemePhrases[within]}.`,
      formula: 'group_weight * within / group_total',
      weigh(scope) {
        const sizes = readsSize ? readValues(scope, size) : new Float64Array(scope.columns.length).fill(1);
        const weightsWithin =
          within === 'equal' ? new Float64Array(sizes.length).fill(1) : sizes.map((value) => (value > 0 ? value : 0));
        const raw = new Float64Array(sizes.length);
        const groups: Group[] = [];
        const groupOfPosition = new Int32Array(sizes.length);
        for (const [name, members] of readGroups(scope, group)) {
          const total = members.reduce((sum, position) => sum + weightsWithin[position]!, 0);
          const weightOfGroup = {
            equal: () => 1,
            market_cap: () => members.reduce((sum, position) => sum + (sizes[position]! || 0), 0),
            fixed: () => (name === null ? 0 : (group_weights?.[name] ?? 0)),
          }[between]();
          groups.push({ name, weight: weightOfGroup, total });
          for (const position of members) {
            groupOfPosition[position] = groups.length - 1;
            raw[position] = total > 0 ? weightOfGroup * (weightsWithin[position]! / total) : 0;
          }
        }
        return createWeights(raw, (position) => {
          const { name, weight, total } = groups[groupOfPosition[position]!]!;
          return { [field]: name, group_weight: weight, within: weightsWithin[position]!, group_total: total };
        });
      },
    };
  },
});
