import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { listPositions, rankPositions, selectPositionsWithValue } from '../../datapoints/ranking.js';
import { nameUsedField, readValues } from '../verdicts.js';
import { createWeights, defineWeightingClass } from '../weighting-class.js';
import { createLabel } from '../../datapoints/expressions/print.js';

export const rankWeight = defineWeightingClass({
  type: 'RankWeight',
  label: 'Rank weight',
  help: 'Weights by the rank of a datapoint.',
  params: defineObject(() => ({
    field: parameters.field,
    ascending: parameters.ascending,
    scheme: z
      .enum(['linear', 'reciprocal'])
      .default('linear')
      .meta({ label: 'Scheme', help: '`linear`: count + 1 - rank; `reciprocal`: 1 / rank.' }),
  })),
  example: { type: 'RankWeight', params: { field: 'MOMENTUM', scheme: 'linear' } },
  behaviour({ field, ascending, scheme }) {
    const value = useNumber(field, 'field');
    return {
      reads: [value],
      sentence: `Weight constituents by their rank on ${nameUsedField(value)}, ${ascending ? 'smallest' : 'largest'} first, with ${scheme === 'linear' ? 'linear weights (count + 1 - rank)' : 'reciprocal weights (1 / rank)'}.`,
      formula: scheme === 'linear' ? 'count + 1 - rank' : '1 / rank',
      weigh(scope) {
        const values = readValues(scope, value);
        const order = rankPositions(values, selectPositionsWithValue(values, listPositions(values)), ascending);
        const raw = new Float64Array(values.length);
        const ranks = new Int32Array(values.length);
        order.forEach((position, i) => {
          ranks[position] = i + 1;
          raw[position] = scheme === 'linear' ? order.length - i : 1 / (i + 1);
        });
        return createWeights(raw, (position) => ({
          [createLabel(value.field)]: Number.isNaN(values[position]!) ? null : values[position]!,
          rank: ranks[position]! || null,
          count: order.length,
        }));
      },
    };
  },
});
