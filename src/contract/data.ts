import { z } from 'zod';
import { AsKnownOnText, AssetIdentifier, defineObject, IsoDate } from '#domain/base/schema.js';
import { ACTION_KINDS, ELECTION_DEFAULTS } from '#domain/market/market-data.js';
import { TableFrame } from './payloads.js';
import { defineRoutes } from './route.js';

/** Meaning of the value of a corporate action. It depends on the type of the action. */
export const VALUE_MEANING =
  'As in the store. Dividends and returns of capital: cash per share. Splits, stock dividends and bonus issues: share-count multiplier. Rights issue: new shares per share held. Spin-off or merger: shares of `related` per share held. Acquisition or delisting: price paid per share.';

const CorporateAction = defineObject(() => ({
  type: z.enum(Object.keys(ACTION_KINDS) as [string, ...string[]]), // the table is not empty
  kind: z.enum(['cash', 'ratio', 'structural']).meta({
    description:
      'Meaning of value: an amount per share, which can be summed; a share-count multiplier, which compounds; or a value that cannot be summed.',
  }),
  value: z.number().nullable().meta({ description: VALUE_MEANING }),
  ex_date: z.string(),
  pay_date: z.string().nullable().meta({ description: 'Null: unknown.' }),
  status: z.enum(['announced', 'paid', 'cancelled']).nullable().meta({ description: 'Null: unknown.' }),
  announced: z.string().nullable().meta({ description: 'Day of the announcement.' }),
  related: z.string().nullable().meta({ description: 'Other identifier of a spin-off, merger or change of ticker.' }),
  subscription_price: z.number().nullable().meta({ description: 'Price of a new share in a rights issue.' }),
  cash: z.number().nullable().meta({
    description: 'Cash per share that a merger pays in addition to the shares of `related`; null if it pays none.',
  }),
  scrip_ratio: z.number().nullable().meta({
    description: 'New shares per share held that can be chosen instead of a dividend; null if there is no choice.',
  }),
  election_date: z.string().nullable().meta({ description: 'Last day of the election; null if unknown.' }),
  election_default: z
    .enum(ELECTION_DEFAULTS)
    .nullable()
    .meta({ description: 'Default of the election; null if unknown.' }),
})).meta({ id: 'CorporateAction' });

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

const BATCH_MAX = 1000; // maximum number of identifiers per batch

const defineDate = (help: string) => IsoDate.optional().meta({ description: help });

export const PricesResponse = defineObject(() => ({
  identifier: z.string(),
  interval: z.enum(['native', 'weekly', 'monthly']).meta({ description: 'Resolution served.' }),
  prices: TableFrame.meta({ description: 'Market data by date; null for missing values.' }),
})).meta({ id: 'PricesResponse' });

const fields = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).nullable());

export const UniverseMembership = defineObject(() => ({
  universe: z.string(),
  name: z.string().nullable(),
  start: z.string().nullable().meta({ description: 'First day of the membership; null if it has no beginning.' }),
  end: z
    .string()
    .nullable()
    .meta({ description: 'First day on which the security is no longer a member; null for a current member.' }),
  current: z.boolean().meta({ description: 'True if the security is a member on as_of, or today.' }),
})).meta({ id: 'UniverseMembership' });

export const ReferenceResponse = defineObject(() => ({
  identifier: z.string(),
  fields: fields.meta({ description: 'Every reference column of the store, as known on as_of.' }),
  universes: z.array(UniverseMembership),
})).meta({ id: 'ReferenceResponse' });
export type ReferenceResponse = z.infer<typeof ReferenceResponse>;

export const ReferenceEntry = defineObject(() => ({
  identifier: z.string(),
  found: z.boolean().meta({
    description: 'False if the identifier is unknown. Its fields are then empty, and the request does not fail.',
  }),
  fields: fields.meta({ description: 'Requested columns; null for a missing value.' }),
})).meta({ id: 'ReferenceEntry' });

export const BatchReferenceResponse = defineObject(() => ({
  entries: z
    .array(ReferenceEntry)
    .meta({ description: 'One entry per requested identifier, in the order of the request.' }),
  as_of: z.string().nullable().meta({ description: 'Point-in-time date that was applied, if one was requested.' }),
})).meta({ id: 'BatchReferenceResponse' });
export type BatchReferenceResponse = z.infer<typeof BatchReferenceResponse>;

export const CorporateActionsResponse = defineObject(() => ({
  identifier: z.string(),
  actions: z.array(CorporateAction).meta({ description: 'Actions by ex-date, ascending.' }),
  cumulative_split_ratio: z.number().meta({
    description: 'Compounded share-count multiplier of the actions with a ratio in the window that are not cancelled.',
  }),
  as_of: z.string().meta({ description: 'Date on which the trailing figures end, YYYY-MM-DD.' }),
  trailing_dividend: z.number().meta({
    description:
      'Ordinary dividends per share over the twelve calendar months that end on the as-of date, on the share basis of that date.',
  }),
  trailing_dividend_yield: z
    .number()
    .nullable()
    .meta({ description: 'trailing_dividend divided by the close on the as-of date; null without a price.' }),
})).meta({ id: 'CorporateActionsResponse' });
export type CorporateActionsResponse = z.infer<typeof CorporateActionsResponse>;

export const DataSourceStatus = defineObject(() => ({
  configured: z.boolean().meta({ description: 'True if a data source is attached.' }),
  identifiers: z.int().meta({ description: 'Number of distinct identifiers of the market dataset.' }),
})).meta({ id: 'DataSourceStatus' });
export type DataSourceStatus = z.infer<typeof DataSourceStatus>;

export const IdentifierSearch = defineObject(() => ({
  identifiers: z.array(
    z.strictObject({
      identifier: z.string(),
      name: z.string().nullable(),
      start: z.string().nullable().meta({ description: 'First bar.' }),
      end: z.string().nullable().meta({ description: 'Last bar.' }),
      sector: z.string().nullable().meta({ description: 'Latest SECTOR of the reference data.' }),
      currency: z
        .string()
        .nullable()
        .meta({ description: 'Latest CURRENCY of the reference data. Default: the currency of the store.' }),
      close: z.number().nullable().meta({ description: 'CLOSE of the last bar, as stored.' }),
      market_cap: z.number().nullable().meta({ description: 'MARKET_CAP on the date of the last bar.' }),
    }),
  ),
  next: z.string().nullable().meta({ description: 'Value of `after` for the next page; null on the last page.' }),
})).meta({ id: 'IdentifierSearch' });
export type IdentifierSearch = z.infer<typeof IdentifierSearch>;

export const SeriesCollection = defineObject(() => ({
  series: z.array(
    z.strictObject({
      identifier: z.string(),
      name: z.string().nullable(),
      currency: z.string().nullable().meta({ description: 'Currency of the values; null if not declared.' }),
      start: z.string().meta({ description: 'First date with a value.' }),
      end: z.string().meta({ description: 'Last date with a value.' }),
      values: z.int().min(1).meta({ description: 'Dates with a value.' }),
    }),
  ),
  next: z.string().nullable().meta({ description: 'Value of `after` for the next page; null on the last page.' }),
})).meta({ id: 'SeriesCollection' });
export type SeriesCollection = z.infer<typeof SeriesCollection>;

const assetParams = defineObject(() => ({
  identifier: AssetIdentifier.meta({ description: 'Identifier of the security, percent-encoded.' }),
}));

const pricesQuery = defineObject(() => ({
  as_known_on: AsKnownOnText,
  start: defineDate('First date.'),
  end: defineDate('Last date.'),
  interval: z.enum(['native', 'weekly', 'monthly']).default('native').meta({
    description:
      'Frequency of the rows. A weekly or monthly row has the date of the last session with data in the ISO week or month.',
  }),
  columns: z
    .array(z.string().min(1))
    .max(100)
    .optional()
    .meta({ description: 'Columns, in this order. Default: all columns.' }),
  adjust: z.enum(['none', 'splits', 'total']).default('none').meta({
    description:
      'Price adjustment: as stored, on the share basis of the latest date, or as a holding with reinvested dividends.',
  }),
}));
export type PricesQuery = z.infer<typeof pricesQuery>;

const batchQuery = defineObject(() => ({
  as_known_on: AsKnownOnText,
  identifiers: z
    .array(AssetIdentifier)
    .min(1)
    .max(BATCH_MAX)
    .meta({ description: 'Identifiers, repeated or separated by commas. Duplicates are removed.' }),
  fields: z.array(z.string().min(1)).max(100).optional().meta({
    description:
      'Reference or market columns, or MARKET_CAP, FREE_FLOAT_MARKET_CAP, DIVIDEND_YIELD, VALUE_TRADED. Default: every reference column.',
  }),
  as_of: defineDate('Values as known on this date. Default: the latest.'),
}));
export type BatchQuery = z.infer<typeof batchQuery>;

const actionsQuery = defineObject(() => ({
  as_known_on: AsKnownOnText,
  start: defineDate('First ex_date.'),
  end: defineDate('Last ex_date.'),
  as_of: defineDate('Last date of the trailing figures. Default: the last close of the security.'),
}));
export type ActionsQuery = z.infer<typeof actionsQuery>;

const searchQuery = defineObject(() => ({
  q: z.string().max(64).optional().meta({ description: 'Part of an identifier or a name. Case is ignored.' }),
  limit: z.int().min(1).max(1000).default(100).meta({ description: 'Maximum number of securities.' }),
  after: z.string().max(64).optional().meta({ description: 'Only securities that follow this identifier.' }),
}));
export type SearchQuery = z.infer<typeof searchQuery>;

export const FieldList = defineObject(() => ({
  fields: z
    .array(
      z.strictObject({
        name: z.string(),
        dataset: z.enum(['market', 'reference', 'derived']).meta({ description: 'Source of the field.' }),
        kind: z.enum(['number', 'string', 'boolean']).meta({ description: 'Type of its values.' }),
      }),
    )
    .meta({ description: 'Columns and derived datapoints, by name.' }),
  universes: z.array(z.string()).meta({ description: 'Names of the universes of the store.' }),
  index_defaults: z
    .strictObject({
      currency: z.string().nullable().meta({
        description: 'Only currency of the securities, otherwise the currency that the store declares.',
      }),
      calendar: z.string().nullable().meta({ description: 'Calendar of the only exchange of the securities.' }),
      base_date: z.string().nullable().meta({
        description: 'One year after the start of the store; its first date if the store is shorter.',
      }),
    })
    .meta({ description: 'Values of a new index on the store; null if the store does not determine a value.' }),
})).meta({ id: 'FieldList' });
export type FieldList = z.infer<typeof FieldList>;

export const dataRoutes = defineRoutes('data', {
  getPrices: {
    method: 'GET',
    path: '/data/prices/{identifier}',
    onStore: 'query',
    scope: 'read',
    summary: 'Returns market data of one security, or the values of a series.',
    description:
      'In a week or month, OPEN is the first value, HIGH the largest, LOW the smallest and VOLUME the sum. Every other column has the last value. With `Accept: text/csv`, the response is the table as CSV. With `Accept: application/vnd.apache.arrow.stream`, it is an Arrow stream, and `body` of its schema metadata contains the other fields.',
    params: assetParams,
    query: pricesQuery,
    success: {
      status: 200,
      description: 'The prices; an empty table if the window has none.',
      schema: PricesResponse,
      media: ['text/csv', 'application/vnd.apache.arrow.stream'],
    },
    errors: [
      'NO_DATA_KNOWN',
      'VERSION_NOT_FOUND',
      'IDENTIFIER_NOT_FOUND',
      'INVALID_RANGE',
      'NO_DATA_SOURCE',
      'OVERLOADED',
      'STORE_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'STORE_LOADING',
      'STORE_REFRESHING',
    ],
  },
  getAssetReferences: {
    method: 'GET',
    path: '/data/reference',
    onStore: 'query',
    scope: 'read',
    summary: 'Returns reference data and derived figures of many securities on one date.',
    query: batchQuery,
    description: 'With `Accept: text/csv`, the response has one row per identifier.',
    success: {
      status: 200,
      description: 'One entry per identifier.',
      schema: BatchReferenceResponse,
      media: ['text/csv'],
    },
    errors: ['NO_DATA_KNOWN', 'VERSION_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'OVERLOADED', 'NO_DATA_SOURCE'],
  },
  getAssetReference: {
    method: 'GET',
    path: '/data/reference/{identifier}',
    onStore: 'query',
    scope: 'read',
    summary: 'Returns reference data and universes of one security.',
    params: assetParams,
    query: defineObject(() => ({
      as_of: defineDate('Values as known on this date. Default: the latest.'),
      as_known_on: AsKnownOnText,
    })),
    success: { status: 200, description: 'The reference data.', schema: ReferenceResponse },
    errors: [
      'NO_DATA_KNOWN',
      'VERSION_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'OVERLOADED',
      'IDENTIFIER_NOT_FOUND',
      'NO_DATA_SOURCE',
    ],
  },
  getCorporateActions: {
    method: 'GET',
    path: '/data/corporate-actions/{identifier}',
    onStore: 'query',
    scope: 'read',
    summary: 'Lists the corporate actions of one security, with their sums.',
    params: assetParams,
    query: actionsQuery,
    success: { status: 200, description: 'The actions.', schema: CorporateActionsResponse },
    errors: [
      'NO_DATA_KNOWN',
      'VERSION_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'OVERLOADED',
      'IDENTIFIER_NOT_FOUND',
      'INVALID_RANGE',
      'NO_DATA_SOURCE',
    ],
  },
  getCoverage: {
    method: 'GET',
    path: '/data/coverage',
    call: 'data.coverage',
    onStore: 'query',
    scope: 'read',
    summary: 'Returns the datasets of the served store and their age.',
    success: { status: 200, description: 'Coverage by dataset.', schema: CoverageResponse },
  },
  getCoverageHistory: {
    method: 'GET',
    path: '/data/coverage/history',
    call: 'data.coverageHistory',
    onStore: 'query',
    scope: 'read',
    summary: 'Returns the number of securities of the served store with a price on each date, and the expected number.',
    success: { status: 200, description: 'Coverage by date.', schema: CoverageHistoryResponse },
    errors: ['NO_DATA_SOURCE', 'OVERLOADED'],
  },
  getDataSource: {
    method: 'GET',
    path: '/data/source',
    call: 'data.source',
    onStore: 'query',
    scope: 'read',
    summary: 'Returns the status of the data source.',
    success: { status: 200, description: 'The data source.', schema: DataSourceStatus },
  },
  listFields: {
    method: 'GET',
    path: '/data/fields',
    call: 'data.fields',
    onStore: 'query',
    scope: 'read',
    summary: 'Lists the fields that rules can read in the served store, its universes, and the values of a new index.',
    success: { status: 200, description: 'The fields, universes and defaults.', schema: FieldList },
    errors: ['NO_DATA_SOURCE'],
  },
  listSeries: {
    method: 'GET',
    path: '/data/series',
    call: 'data.series',
    onStore: 'query',
    scope: 'read',
    summary: 'Lists the series of the served store. A series is never a constituent.',
    description:
      'The dataset `series` contains benchmarks, exchange rates and interest rates. They belong to no universe and are not counted in coverage. GET /data/prices/{identifier} returns their values.',
    query: searchQuery,
    success: { status: 200, description: 'Series by identifier.', schema: SeriesCollection },
    errors: ['NO_DATA_SOURCE'],
  },
  searchIdentifiers: {
    method: 'GET',
    path: '/data/identifiers',
    call: 'data.search',
    onStore: 'query',
    scope: 'read',
    summary: 'Searches the securities of the served store by identifier or name.',
    query: searchQuery,
    success: { status: 200, description: 'Securities by identifier.', schema: IdentifierSearch },
    errors: ['NO_DATA_SOURCE'],
  },
});
