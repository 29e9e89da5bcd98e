import { defineObject } from '../../schema/define-object.js';
import { createLatestRequest } from '../../datapoints/field-request.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { formatBounds, keepWithin, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';

const order = parameters.requireOrder('minimum', 'maximum');

export const volatilityFilter = defineSelectionClass({
  type: 'VolatilityFilter',
  label: 'Volatility filter',
  help: 'Keeps securities with an annualised volatility between two bounds. The volatility uses the returns between price bars on consecutive sessions.',
  params: defineObject(() => ({
    window: parameters.defineWindow(252),
    maximum: parameters.defineBound('Maximum', 'Maximum volatility; null: no maximum.', 'fraction per year'),
    minimum: parameters.defineBound('Minimum', 'Minimum volatility; null: no minimum.', 'fraction per year'),
    missing: parameters.missing,
  })).refine(order.check, order.issue),
  example: { id: 'calm', type: 'VolatilityFilter', params: { window: 252, maximum: 0.4 } },
  behaviour({ window, minimum, maximum, missing }) {
    const value = useNumber(createLatestRequest('VOLATILITY', { window }));
    const bounds = { minimum, maximum };
    return {
      reads: [value],
      remembers: false,
      sentence: `Keep securities with a ${nameUsedField(value)} ${formatBounds(bounds)} per year; ${describeMissingPolicy(missing)}.`,
      select: (scope) =>
        keepWithin(scope, { values: readValues(scope, value), what: nameUsedField(value), bounds, missing }),
    };
  },
});
