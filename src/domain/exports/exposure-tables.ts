import { date, fraction, number, text, type ExportTable } from './export-table.js';

const definePercentile = (share: string, of: string) =>
  number(`Value for which the securities with at most this value have ${share} of the weights ${of}.`);

/** Tables of the exposures of a run, with one row per date and item. Missing values are null. */
export const EXPOSURE_TABLES = {
  groups: {
    help: 'Weights by group.',
    row: 'a group, by date then in listed order',
    columns: {
      date: date('Session.'),
      group: text('Group. OTHERS contains all groups that are not listed.'),
      weight: fraction('Weight in the group.'),
      benchmark_weight: fraction('Weight of the benchmark in the group.'),
    },
  },
  fields: {
    help: 'Datapoints weighted by the holdings.',
    row: 'a datapoint, by date then in requested order',
    columns: {
      date: date('Session.'),
      field: text('The datapoint.'),
      mean: number('Weighted mean.'),
      coverage: fraction('Fraction of the absolute weights that belongs to securities with a value.'),
      p10: definePercentile('10 %', 'held'),
      p25: definePercentile('25 %', 'held'),
      p50: definePercentile('Half', 'held'),
      p75: definePercentile('75 %', 'held'),
      p90: definePercentile('90 %', 'held'),
      benchmark_mean: number('Mean of the benchmark.'),
      benchmark_coverage: fraction('Coverage of the benchmark.'),
      benchmark_p10: definePercentile('10 %', 'of the benchmark'),
      benchmark_p25: definePercentile('25 %', 'of the benchmark'),
      benchmark_p50: definePercentile('Half', 'of the benchmark'),
      benchmark_p75: definePercentile('75 %', 'of the benchmark'),
      benchmark_p90: definePercentile('90 %', 'of the benchmark'),
    },
  },
  concentration: {
    help: 'Concentration and turnover.',
    row: 'a date',
    columns: {
      date: date('Session.'),
      herfindahl: number('Sum of the squared weights.'),
      effective: number('1 divided by herfindahl.', 'assets'),
      largest: fraction('Largest weight.'),
      turnover: fraction('One-way turnover since the previous row.'),
      active_share: fraction('Half the sum of the absolute differences from the weights of the benchmark.'),
      gross_effective: number('Squared sum of the absolute weights, divided by herfindahl.', 'positions'),
      gross_largest: fraction('Largest absolute weight, long or short.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type ExposureTable = keyof typeof EXPOSURE_TABLES;
export const EXPOSURE_TABLE_NAMES = Object.keys(EXPOSURE_TABLES) as [ExposureTable, ...ExposureTable[]]; // Object.keys returns plain strings.
