import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { formatBounds, keepWithin, describeMissingPolicy, nameUsedField, readValues } from '../verdicts.js';

export const freeFloatFilter = defineSelectionClass({
  type: 'FreeFloatFilter',
  label: 'Free float filter',
  help: 'Keeps securities with a minimum free float.',
  params: defineObject(() => ({
    minimum: z
      .number()
      .min(0)
      .max(1)
      .default(0.15)
      .meta({ label: 'Minimum', help: 'Minimum free float, as a fraction of the shares.', unit: 'fraction' }),
    missing: parameters.missing,
  })),
  example: { id: 'float', type: 'FreeFloatFilter', params: { minimum: 0.15 } },
  behaviour({ minimum, missing }) {
    const value = useNumber('FREE_FLOAT');
    const bounds = { minimum, maximum: null };
    return {
      reads: [value],
      remembers: false,
      sentence: `Keep securities with a ${nameUsedField(value)} ${formatBounds(bounds)}; ${describeMissingPolicy(missing)}.`,
      select: (scope) =>
        keepWithin(scope, { values: readValues(scope, value), what: nameUsedField(value), bounds, missing }),
    };
  },
});
