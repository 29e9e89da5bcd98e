import { compareText } from '#domain/findings.js';
import { attributionView } from '../../attribution-view.js';
import { inBatches, textValues, type Producer } from '../batch.js';

/** @throws Refusal RANGE_TOO_SHORT, TOTAL_LOSS */
export const attribution: Producer<'attribution'> = ({ columns, window }, from) => {
  const { contributions } = attributionView(columns, window);
  const rows = contributions.toSorted((a, b) => compareText(a.asset_id, b.asset_id));
  const numbers = (of: (row: (typeof rows)[number]) => number): Float64Array => Float64Array.from(rows, of);
  return inBatches<'attribution'>(
    {
      count: rows.length,
      columns: {
        identifier: textValues(rows.map(({ asset_id }) => asset_id)),
        contribution: numbers(({ contribution }) => contribution),
        average_weight: numbers(({ average_weight }) => average_weight),
        total_return: numbers((row) => row.total_return),
      },
    },
    from,
  );
};
