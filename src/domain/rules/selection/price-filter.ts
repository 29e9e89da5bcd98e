import { defineObject } from '../../schema/define-object.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { formatBounds, keepWithin, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';

const order = parameters.requireOrder('minimum', 'maximum');

export const priceFilter = defineSelectionClass({
  type: 'PriceFilter',
  label: 'Price filter',
  help: 'Keeps securities with a close between two bounds.',
  params: defineObject(() => ({
    minimum: parameters.defineMoneyBound('Minimum', 'Minimum close; null: no minimum.'),
    maximum: parameters.defineMoneyBound('Maximum', 'Maximum close; null: no maximum.'),
    missing: parameters.missing,
  })).refine(order.check, order.issue),
  example: { id: 'no-penny-shares', type: 'PriceFilter', params: { minimum: 5 } },
  behaviour({ minimum, maximum, missing }) {
    const value = useNumber('CLOSE', '', true);
    const bounds = { minimum, maximum };
    return {
      reads: [value],
      remembers: false,
      sentence: `Keep securities with a ${nameUsedField(value)} ${formatBounds(bounds)} in index currency; ${describeMissingPolicy(missing)}.`,
      select: (scope) =>
        keepWithin(scope, { values: readValues(scope, value), what: nameUsedField(value), bounds, missing }),
    };
  },
});
