import { defineObject } from '../../schema/define-object.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { describeMissingPolicy, createReason, readValues } from '../verdicts.js';

export const pluginFilter = defineSelectionClass({
  type: 'PluginFilter',
  label: 'Plug-in filter',
  takesPlugin: true,
  help: 'Keeps securities that a plug-in of the document keeps.',
  params: defineObject(() => ({ plugin: parameters.pluginName, missing: parameters.missing })),
  example: { id: 'near-high', type: 'PluginFilter', params: { plugin: 'NEAR_HIGH' } },
  behaviour({ plugin, missing }) {
    const value = useNumber(plugin, 'plugin');
    return {
      reads: [value],
      remembers: false,
      sentence: `Keep securities that the plug-in ${plugin} keeps; ${describeMissingPolicy(missing)}.`,
      select(scope) {
        const values = readValues(scope, value);
        const keptFlags = Uint8Array.from(values, (found) =>
          Number(found === found ? found !== 0 : missing === 'include'),
        );
        return {
          kept: keptFlags,
          because: (position) =>
            createReason(`kept by ${plugin}`, { value: Number.isNaN(values[position]!) ? null : values[position]! }),
        };
      },
    };
  },
});
