import { defineObject } from '../../schema/define-object.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { formatList, createReason } from '../verdicts.js';

export const excludeList = defineSelectionClass({
  type: 'ExcludeList',
  label: 'Exclude list',
  help: 'Removes the securities of a list.',
  params: defineObject(() => ({ identifiers: parameters.identifiers })),
  example: { id: 'sanctioned', type: 'ExcludeList', params: { identifiers: ['XYZ'] } },
  behaviour({ identifiers: listed }) {
    const listedIdentifiers = new Set(listed);
    return {
      reads: [],
      remembers: false,
      sentence: `Remove these securities: ${formatList(listed)}.`,
      select: ({ columns, identifiers }) => ({
        kept: Uint8Array.from(columns, (column) => (listedIdentifiers.has(identifiers[column]!) ? 0 : 1)),
        because: (position) =>
          createReason('not on the list', { value: !listedIdentifiers.has(identifiers[columns[position]!]!) }),
      }),
    };
  },
});
