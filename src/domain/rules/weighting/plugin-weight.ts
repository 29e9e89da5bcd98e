import { defineObject } from '../../schema/define-object.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { readValues } from '../verdicts.js';
import { createWeights, defineWeightingClass } from '../weighting-class.js';

export const pluginWeight = defineWeightingClass({
  type: 'PluginWeight',
  label: 'Plug-in weight',
  takesPlugin: true,
  help: 'Weights in proportion to the values of a plug-in. A security with a negative or missing value is not held.',
  params: defineObject(() => ({ plugin: parameters.pluginName })),
  example: { type: 'PluginWeight', params: { plugin: 'SLOW_TILT' } },
  behaviour({ plugin }) {
    const value = useNumber(plugin, 'plugin');
    return {
      reads: [value],
      sentence: `Weight constituents in proportion to the plug-in ${plugin}; securities with a negative or missing value are not held.`,
      formula: plugin,
      weigh(scope) {
        const values = readValues(scope, value);
        return createWeights(values, (position) => ({ [plugin]: values[position]! }));
      },
    };
  },
});
