import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useNumber } from '../../datapoints/field-use.js';
import { fieldName } from '../parameters.js';
import { readValues } from '../verdicts.js';
import { createWeights, defineWeightingClass } from '../weighting-class.js';

export const PriceWeightParams = defineObject(() => ({
  factor_field: fieldName.nullable().default(null).meta({
    label: 'Factor',
    help: 'Column with the number of shares of each constituent, such as a par-value or price-adjustment factor. Default: one share each.',
  }),
  splits: z.enum(['divisor', 'keep_weight']).default('divisor').meta({
    label: 'Splits',
    help: 'Effect of a split: the number of shares does not change and the divisor does, or the shares are multiplied so that the weight does not change.',
  }),
}));

export const priceWeight = defineWeightingClass({
  type: 'PriceWeight',
  label: 'Price weight',
  help: 'Holds one share of each constituent, or a number of shares from a column. Weights are in proportion to prices in index currency, as in the Dow Jones Industrial Average.',
  params: PriceWeightParams,
  example: { type: 'PriceWeight', params: {} },
  behaviour({ factor_field: factorField, splits }) {
    const value = useNumber('CLOSE', '', true);
    const factor = factorField === null ? null : useNumber(factorField, 'factor_field');
    const sharesPhrase =
      factorField === null ? 'one share of each constituent' : `${factorField} shares of each constituent`;
    const splitPhrase =
      splits === 'divisor'
        ? 'A split keeps the number of shares and changes the divisor'
        : 'A split multiplies the number of shares';
    return {
      reads: factor === null ? [value] : [value, factor],
      sentence: `The index holds ${sharesPhrase}: weights are in proportion to its price in index currency. ${splitPhrase}.`,
      formula: factorField === null ? 'CLOSE' : `CLOSE x ${factorField}`,
      weigh(scope) {
        const prices = readValues(scope, value);
        if (factor === null) return { ...createWeights(prices), shares: prices.map(() => 1) };
        const factors = readValues(scope, factor);
        return { ...createWeights(prices.map((price, i) => price * factors[i]!)), shares: factors };
      },
    };
  },
});
