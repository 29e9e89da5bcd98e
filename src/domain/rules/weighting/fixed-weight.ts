import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { AssetIdentifier } from '../../schema/shape.js';
import { createWeights, defineWeightingClass } from '../weighting-class.js';
import { formatNumber, formatShare } from '../../catalogue/sentence-numbers.js';

/** Tolerance of the sum of given weights if they are not normalised. */
const SUM_TOLERANCE = 1e-9;

const sumWeights = (weights: Iterable<number>): number => {
  let total = 0;
  for (const weight of weights) total += weight;
  return total;
};

export const fixedWeight = defineWeightingClass({
  type: 'FixedWeight',
  label: 'Fixed weight',
  help: 'Weights by identifier. Constituents without a weight are not held.',
  params: defineObject(() => ({
    weights: z
      .record(AssetIdentifier, z.number().min(0).max(1e15))
      .meta({ label: 'Weights', help: 'Identifier to weight.', unit: 'fraction' }),
    renormalise: z.boolean().default(true).meta({
      label: 'Renormalise',
      help: 'True scales the weights of the selected securities to a sum of 1. Otherwise they must sum to 1.',
    }),
  })).superRefine(({ weights, renormalise }, context) => {
    const total = sumWeights(Object.values(weights));
    if (renormalise || Math.abs(total - 1) <= SUM_TOLERANCE) return;
    context.addIssue({
      code: 'custom',
      path: ['weights'],
      input: undefined,
      params: { finding: 'WEIGHTS_NOT_ONE' },
      message: `sum to ${formatNumber(total)}; they must sum to 1 without renormalisation`,
    });
  }),
  example: { type: 'FixedWeight', params: { weights: { AAPL: 0.5, MSFT: 0.5 } } },
  behaviour({ weights, renormalise }) {
    const weightByName = new Map(Object.entries(weights));
    const weightsText = [...weightByName].map(([name, weight]) => `${name} ${formatShare(weight)}`).join(', ');
    return {
      reads: [],
      sentence: `Constituents are weighted as given (${weightsText})${renormalise ? ', scaled to sum to 1 over the selected ones' : '; the selected ones must sum to 1'}.`,
      formula: 'given weight',
      weigh({ columns, identifiers }) {
        const values = Float64Array.from(columns, (column) => weightByName.get(identifiers[column]!) ?? 0);
        const total = sumWeights(values);
        if (!renormalise && Math.abs(total - 1) > SUM_TOLERANCE) {
          return {
            kind: 'refused',
            code: 'VALIDATION_FAILED',
            finding: {
              code: 'WEIGHTS_NOT_ONE',
              message: `The weights of the selected securities sum to ${formatNumber(total)}; they must sum to 1 without renormalisation.`,
              path: 'params.weights',
            },
          };
        }
        const given = sumWeights(weightByName.values());
        const isWhole = Math.abs(total - given) <= SUM_TOLERANCE * Math.max(1, given);
        if (isWhole || total === 0) return createWeights(values);
        return {
          ...createWeights(values),
          warnings: [
            {
              code: 'WEIGHTS_NOT_ONE',
              message: `The weights of the selected securities sum to ${formatNumber(total)}, those of all named securities to ${formatNumber(given)}. The weights are scaled to a sum of 1.`,
              path: 'params.weights',
            },
          ],
        };
      },
    };
  },
});
