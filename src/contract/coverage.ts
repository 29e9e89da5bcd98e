import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';

export const DatasetCoverage = defineObject(() => ({
  dataset: z.enum(['market', 'reference']),
  configured: z.boolean().meta({ description: 'True if the dataset is loaded.' }),
  identifiers: z.int(),
  start: z.string().nullable(),
  end: z.string().nullable(),
  field_count: z.int().meta({ description: 'Number of data columns, excluding the keys.' }),
  frequency: z
    .enum(['daily', 'static', 'event'])
    .meta({ description: 'Update frequency of the dataset, which determines when it is stale.' }),
  stale_after_seconds: z
    .number()
    .nullable()
    .meta({ description: 'Age beyond which the dataset is stale; null if not applicable.' }),
  cache_age: z.number().nullable().meta({ description: 'Seconds since the last load.' }),
  last_refreshed: z.string().nullable().meta({ description: 'Time of the last load.' }),
  cache_size_bytes: z.int().nullable().meta({ description: 'Bytes on disk.' }),
  source: z.string().nullable().meta({ description: 'Source of the data: local, database, imported or synthetic.' }),
})).meta({ id: 'DatasetCoverage' });

export const CoverageResponse = defineObject(() => ({
  datasets: z.array(DatasetCoverage),
  identifiers_union: z.int().meta({ description: 'Number of distinct identifiers in all datasets.' }),
  cache_size_bytes: z
    .int()
    .nullable()
    .meta({ description: 'Bytes on disk of the whole store; null when no store is served.' }),
})).meta({ id: 'CoverageResponse' });
export type CoverageResponse = z.infer<typeof CoverageResponse>;

const PriceGaps = defineObject(() => ({
  identifier: z.string(),
  start: z.string().meta({ description: 'Date of the first price.' }),
  end: z.string().meta({ description: 'Date of the last price.' }),
  missing: z
    .int()
    .min(1)
    .meta({ description: 'Number of dates without a price between the first and the last price.' }),
  longest: z.int().min(1).meta({ description: 'Largest number of consecutive dates without a price.' }),
  first_missing: z.string().meta({ description: 'First date without a price.' }),
  last_missing: z.string().meta({ description: 'Last date without a price.' }),
  dates: z.array(z.string()).meta({ description: 'The latest 50 dates without a price, ascending.' }),
})).meta({ id: 'PriceGaps', description: 'Missing prices of a security.' });

const FieldCoverage = defineObject(() => ({
  name: z.string().meta({ description: 'Name of the column.' }),
  dataset: z.enum(['market', 'reference']).meta({ description: 'Table of the column.' }),
  securities: z.int().min(0).meta({ description: 'Number of securities with a value on any date.' }),
  securities_at_end: z.int().min(0).meta({
    description:
      'Number of securities with a close and a value on the last date; for reference data, with a value valid on it.',
  }),
  start: z.string().nullable().meta({
    description: 'Date of the first value. Null if there is none, or if reference values have no valid_from.',
  }),
  end: z
    .string()
    .nullable()
    .meta({ description: 'Date of the last value; for reference data, the latest valid_from of a value.' }),
})).meta({ id: 'FieldCoverage', description: 'Values of a column.' });

export const CoverageHistoryResponse = defineObject(() => ({
  store_id: z.string(),
  dates: z.array(z.string()).meta({ description: 'Dates on which any security has a bar, ascending.' }),
  priced: z.array(z.int().min(0)).meta({ description: 'Securities with a price on each date.' }),
  expected: z.array(z.int().min(0)).meta({
    description:
      'Number of securities with a first price on or before the date and a last price on or after it. If such a security has no price on the date, its exchange was closed or its bar is missing.',
  }),
  gaps: z
    .array(PriceGaps)
    .meta({ description: 'The 1,000 securities with the most missing prices, sorted by their number.' }),
  gaps_total: z.int().min(0).meta({ description: 'Number of securities with missing prices.' }),
  fields: z.array(FieldCoverage).meta({ description: 'Values of the columns of the market and reference data.' }),
})).meta({ id: 'CoverageHistoryResponse' });
export type CoverageHistoryResponse = z.infer<typeof CoverageHistoryResponse>;
