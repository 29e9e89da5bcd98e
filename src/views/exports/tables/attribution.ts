import { compareText } from '#domain/refusals/findings.js';
import { createAttributionView } from '../../attribution-view.js';
import { yieldBatches, type ExportSource, type Producer } from '../batch.js';
import { findCachedColumns } from '../cached-columns.js';

/**
 * Yields the contributions of the securities and overlay parts in the window.
 * @throws Refusal RANGE_TOO_SHORT, TOTAL_LOSS
 */
export const produceAttribution: Producer<'attribution'> = (source, from) => {
  const cachedColumns = findCachedColumns(source, { table: 'attribution', width: 5 }, () => listFigures(source));
  const [name, contribution, weight, total, part] = cachedColumns as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ]; // width of the cached columns
  const { names, parts = [] } = source.columns.header;
  return yieldBatches<'attribution'>(
    {
      count: name.length,
      columns: {
        identifier: {
          codes: Int32Array.from(name),
          texts: [...names, ...parts.map(({ index_id: indexId }) => indexId)],
        },
        contribution,
        average_weight: weight,
        total_return: total,
        part: { codes: Int32Array.from(part), texts: parts.map((storedPart) => storedPart.part) },
      },
    },
    from,
  );
};

/**
 * Returns the columns of the table. They are the position of each security in the run, its figures, and the position of
 * an overlay part (-1 for a security). Rows are ascending by identifier, and overlay parts come last.
 */
function listFigures({ columns, window }: ExportSource): Float64Array[] {
  const { names } = columns.header;
  const columnByName = new Map(names.map((name, position) => [name, position]));
  const { contributions, overlay_parts: parts } = createAttributionView(columns, window);
  const rows = [
    ...contributions
      .toSorted((a, b) => compareText(a.asset_id, b.asset_id))
      .map(({ asset_id, ...figures }) => ({ ...figures, at: columnByName.get(asset_id)!, part: -1 })), // `asset_id` is a security of the run
    ...(parts ?? []).map(({ contribution }, part) => ({
      contribution,
      average_weight: 0,
      total_return: NaN,
      at: names.length + part,
      part,
    })),
  ];
  const readNumbers = (readRow: (row: (typeof rows)[number]) => number): Float64Array =>
    Float64Array.from(rows, readRow);
  return [
    readNumbers(({ at }) => at),
    readNumbers(({ contribution }) => contribution),
    readNumbers(({ average_weight }) => average_weight),
    readNumbers((row) => row.total_return),
    readNumbers(({ part }) => part),
  ];
}
