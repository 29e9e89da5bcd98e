import { compareText } from '#domain/findings.js';
import { attributionView } from '../../attribution-view.js';
import { inBatches, type ExportSource, type Producer } from '../batch.js';
import { keptColumns } from '../kept-columns.js';

/** @throws Refusal RANGE_TOO_SHORT, TOTAL_LOSS */
export const attribution: Producer<'attribution'> = (source, from) => {
  const kept = keptColumns(source, { table: 'attribution', width: 4 }, () => figuresOf(source));
  const [name, contribution, weight, total] = kept as [Float64Array, Float64Array, Float64Array, Float64Array]; // the width
  return inBatches<'attribution'>(
    {
      count: name.length,
      columns: {
        identifier: { codes: Int32Array.from(name), texts: source.columns.header.names },
        contribution,
        average_weight: weight,
        total_return: total,
      },
    },
    from,
  );
};

/** Positions of names in those of the run, ascending by name, and the figures of each. */
function figuresOf({ columns, window }: ExportSource): Float64Array[] {
  const places = new Map(columns.header.names.map((name, place) => [name, place]));
  const { contributions } = attributionView(columns, window);
  const rows = contributions.toSorted((a, b) => compareText(a.asset_id, b.asset_id));
  const numbers = (of: (row: (typeof rows)[number]) => number): Float64Array => Float64Array.from(rows, of);
  return [
    numbers(({ asset_id }) => places.get(asset_id)!), // a name of the run
    numbers(({ contribution }) => contribution),
    numbers(({ average_weight }) => average_weight),
    numbers((row) => row.total_return),
  ];
}
