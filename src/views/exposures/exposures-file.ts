import type { ExportFormat } from '#domain/exports/formats.js';
import { EXPOSURE_TABLES, type ExposureTable } from '#domain/exports/exposure-tables.js';
import type { NamedColumn, ColumnValues } from '../exports/batch.js';
import { createTableFile } from '../exports/table-file.js';
import type { Exposures } from './exposures-view.js';
import type { FieldSeries } from './field-series.js';

/** Returns a table of exposures on the shown dates as a complete file. */
export function createExposuresFile(
  exposures: Exposures,
  table: ExposureTable,
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  const { columns } = EXPOSURE_TABLES[table];
  const result = ROWS[table](exposures);
  const namedColumns = Object.entries(columns).map(([name, { type }]): NamedColumn => ({
    name,
    type,
    values: result.values[name]!,
  }));
  const rows = { columns: namedColumns, count: result.count };
  return createTableFile({ runId: exposures.indexId, name: table, columns, rows }, format);
}

interface Rows {
  readonly count: number;
  readonly values: Readonly<Record<string, ColumnValues>>;
}

const ROWS: Readonly<Record<ExposureTable, (exposures: Exposures) => Rows>> = {
  groups({ days, groups }) {
    const rows = createDatedRows(days, groups);
    return {
      count: rows.count,
      values: {
        date: rows.dates,
        group: rows.labels(groups.map(({ group }) => group)),
        weight: rows.numbers(({ weights }) => weights),
        benchmark_weight: rows.numbers(({ benchmark }) => benchmark),
      },
    };
  },
  fields({ days, fields }) {
    const rows = createDatedRows(days, fields);
    const ownFigures = Object.entries(FIGURES).map(([name, figure]) => [
      name,
      rows.numbers((field) => figure(field.own)),
    ]);
    const other = Object.entries(FIGURES).map(([name, figure]) => [
      `benchmark_${name}`,
      rows.numbers(({ benchmark }) => benchmark && figure(benchmark)),
    ]);
    const field = rows.labels(fields.map((item) => item.field));
    return { count: rows.count, values: { date: rows.dates, field, ...Object.fromEntries([...ownFigures, ...other]) } };
  },
  concentration({ days, herfindahl, effective, largest, grossEffective, grossLargest, turnover, activeShare }) {
    const active_share = activeShare ?? new Float64Array(days.length).fill(NaN);
    const grossColumns = { gross_effective: grossEffective, gross_largest: grossLargest };
    return {
      count: days.length,
      values: { date: days, herfindahl, effective, largest, turnover, active_share, ...grossColumns },
    };
  },
};

const FIGURES: Readonly<Record<string, (series: FieldSeries) => Float64Array>> = {
  mean: ({ mean }) => mean,
  coverage: ({ coverage }) => coverage,
  p10: ({ percentiles }) => percentiles.p10,
  p25: ({ percentiles }) => percentiles.p25,
  p50: ({ percentiles }) => percentiles.p50,
  p75: ({ percentiles }) => percentiles.p75,
  p90: ({ percentiles }) => percentiles.p90,
};

/** Returns functions that build columns with one row per item and date. Rows are grouped by date. */
function createDatedRows<T>(days: Int32Array, items: readonly T[]) {
  const width = items.length;
  const count = days.length * width;
  const dates = new Int32Array(count);
  const codes = new Int32Array(count);
  for (let t = 0, row = 0; t < days.length; t++) {
    for (let k = 0; k < width; k++, row++) {
      dates[row] = days[t]!;
      codes[row] = k;
    }
  }
  return {
    count,
    dates,
    labels: (texts: readonly string[]): ColumnValues => ({ codes, texts }),
    /**
     * Returns a column of numbers.
     * @param getSeries returns the values of an item on the dates; null if the item has none
     */
    numbers(getSeries: (item: T) => Float64Array | null): Float64Array {
      const numbers = new Float64Array(count);
      items.forEach((item, k) => {
        const series = getSeries(item);
        for (let t = 0, row = k; row < count; t++, row += width) numbers[row] = series === null ? NaN : series[t]!;
      });
      return numbers;
    },
  };
}
