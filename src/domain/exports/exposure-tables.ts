import {
  createDateColumn,
  createFractionColumn,
  createNumberColumn,
  createTextColumn,
  type ExportTable,
} from './export-table.js';

const definePercentile = (share: string, description: string) =>
  createNumberColumn(
    `Value for which the securities with at most this value have ${share} of the weights ${description}.`,
  );

/** Tables of the exposures of a run, with one row per date and item. Missing values are null. */
export const EXPOSURE_TABLES = {
  groups: {
    help: 'Weights by group.',
    row: 'a group, by date then in listed order',
    columns: {
      date: createDateColumn('Session.'),
      group: createTextColumn('Group. OTHERS contains all groups that are not listed.'),
      weight: createFractionColumn('Weight in the group.'),
      benchmark_weight: createFractionColumn('Weight of the benchmark in the group.'),
    },
  },
  fields: {
    help: 'Datapoints weighted by the holdings.',
    row: 'a datapoint, by date then in requested order',
    columns: {
      date: createDateColumn('Session.'),
      field: createTextColumn('The datapoint.'),
      mean: createNumberColumn('Weighted mean.'),
      coverage: createFractionColumn('Fraction of the absolute weights that belongs to securities with a value.'),
      p10: definePercentile('10%', 'held'),
      p25: definePercentile('25%', 'held'),
      p50: definePercentile('Half', 'held'),
      p75: definePercentile('75%', 'held'),
      p90: definePercentile('90%', 'held'),
      benchmark_mean: createNumberColumn('Mean of the benchmark.'),
      benchmark_coverage: createFractionColumn('Coverage of the benchmark.'),
      benchmark_p10: definePercentile('10%', 'of the benchmark'),
      benchmark_p25: definePercentile('25%', 'of the benchmark'),
      benchmark_p50: definePercentile('Half', 'of the benchmark'),
      benchmark_p75: definePercentile('75%', 'of the benchmark'),
      benchmark_p90: definePercentile('90%', 'of the benchmark'),
    },
  },
  concentration: {
    help: 'Concentration and turnover.',
    row: 'a date',
    columns: {
      date: createDateColumn('Session.'),
      herfindahl: createNumberColumn('Sum of the squared weights.'),
      effective: createNumberColumn('1 divided by herfindahl.', 'assets'),
      largest: createFractionColumn('Largest weight.'),
      turnover: createFractionColumn('One-way turnover since the previous row.'),
      active_share: createFractionColumn('Half the sum of the absolute differences from the weights of the benchmark.'),
      gross_effective: createNumberColumn('Squared sum of the absolute weights, divided by herfindahl.', 'positions'),
      gross_largest: createFractionColumn('Largest absolute weight, long or short.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type ExposureTable = keyof typeof EXPOSURE_TABLES;
export const EXPOSURE_TABLE_NAMES = Object.keys(EXPOSURE_TABLES) as [ExposureTable, ...ExposureTable[]]; // Object.keys returns plain strings.
