import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { formatBounds, keepWithin, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';

const order = parameters.requireOrder('minimum', 'maximum');

export const marketCapFilter = defineSelectionClass({
  type: 'MarketCapFilter',
  label: 'Market capitalisation filter',
  help: 'Keeps securities with a market capitalisation between two bounds. A separate minimum can apply to constituents.',
  params: defineObject(() => ({
    minimum: parameters.defineMoneyBound('Minimum', 'Minimum market capitalisation; null: no minimum.'),
    maximum: parameters.defineMoneyBound('Maximum', 'Maximum market capitalisation; null: no maximum.'),
    free_float: z
      .boolean()
      .default(true)
      .meta({ label: 'Free float', help: 'True uses only the shares in free float.' }),
    incumbent_minimum: parameters.defineMoneyBound(
      'Incumbent minimum',
      'Minimum market capitalisation of a constituent. Default: same as for other securities.',
    ),
    missing: parameters.missing,
  })).refine(order.check, order.issue),
  example: {
    id: 'size',
    type: 'MarketCapFilter',
    params: { minimum: 2_000_000_000, incumbent_minimum: 1_500_000_000 },
  },
  behaviour({ minimum, maximum, free_float, incumbent_minimum, missing }) {
    const value = useNumber(free_float ? 'FREE_FLOAT_MARKET_CAP' : 'MARKET_CAP');
    const bounds = { minimum, maximum, incumbentMinimum: incumbent_minimum };
    return {
      reads: [value],
      remembers: incumbent_minimum !== null,
      sentence: `Keep securities with a ${nameUsedField(value)} ${formatBounds(bounds)} in index currency; ${describeMissingPolicy(missing)}.`,
      select: (scope) =>
        keepWithin(scope, { values: readValues(scope, value), what: nameUsedField(value), bounds, missing }),
    };
  },
});
