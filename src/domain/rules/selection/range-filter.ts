import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { formatBounds, keepWithin, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';

const order = parameters.requireOrder('minimum', 'maximum');

export const rangeFilter = defineSelectionClass({
  type: 'RangeFilter',
  label: 'Range filter',
  help: 'Keeps securities with a datapoint between two bounds.',
  params: defineObject(() => ({
    field: parameters.field,
    minimum: parameters.defineBound('Minimum', 'Lower bound; null: no lower bound.'),
    maximum: parameters.defineBound('Maximum', 'Upper bound; null: no upper bound.'),
    inclusive: z.boolean().default(true).meta({ label: 'Inclusive', help: 'True if a value equal to a bound passes.' }),
    missing: parameters.missing,
  })).refine(order.check, order.issue),
  example: { id: 'moderate-beta', type: 'RangeFilter', params: { field: 'BETA', minimum: 0.5, maximum: 1.5 } },
  behaviour({ field, minimum, maximum, inclusive, missing }) {
    const value = useNumber(field, 'field');
    const bounds = { minimum, maximum, inclusive };
    return {
      reads: [value],
      remembers: false,
      sentence: `Keep securities with a ${nameUsedField(value)} ${formatBounds(bounds)}; ${describeMissingPolicy(missing)}.`,
      select: (scope) =>
        keepWithin(scope, { values: readValues(scope, value), what: nameUsedField(value), bounds, missing }),
    };
  },
});
