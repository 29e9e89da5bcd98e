import { defineObject } from '../../schema/define-object.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { formatList, createReason } from '../verdicts.js';

export const includeList = defineSelectionClass({
  type: 'IncludeList',
  label: 'Include list',
  help: 'Keeps only the securities of a list.',
  params: defineObject(() => ({ identifiers: parameters.identifiers })),
  example: { id: 'approved', type: 'IncludeList', params: { identifiers: ['AAPL', 'MSFT', 'NVDA'] } },
  behaviour({ identifiers: listed }) {
    const listedIdentifiers = new Set(listed);
    return {
      reads: [],
      remembers: false,
      sentence: `Keep only these securities: ${formatList(listed)}.`,
      select: ({ columns, identifiers }) => ({
        kept: Uint8Array.from(columns, (column) => (listedIdentifiers.has(identifiers[column]!) ? 1 : 0)),
        because: (position) =>
          createReason('on the list', { value: listedIdentifiers.has(identifiers[columns[position]!]!) }),
      }),
    };
  },
});
