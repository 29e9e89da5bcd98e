import type {
  ActionsQuery,
  BatchQuery,
  BatchReferenceResponse,
  CorporateActionsResponse,
  CoverageResponse,
  DataSourceStatus,
  FieldList,
  IdentifierSearch,
  PricesQuery,
  ReferenceResponse,
  SearchQuery,
  SeriesCollection,
} from '#contract/data.js';
import { compareText, describeUnknownField } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { assertOrder } from '#domain/base/schema.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { findReferenceKind, listFieldNames, resolveName } from '#domain/datapoints/fields.js';
import type { DatasetKind } from '#domain/definition/datasets.js';
import { findIndexDefaults } from '#domain/definition/required-rates.js';
import { addSpinOffValue } from '#domain/market/action-effects.js';
import {
  ACTION_KINDS,
  type CorporateAction,
  type MarketData,
  type Membership,
  type PriceSeries,
  readReference,
  type ReferenceValue,
} from '#domain/market/market-data.js';
import {
  computeCumulativeRatio,
  computeTrailingDividend,
  type SecurityBars,
  type SeriesRequest,
} from '#market/serve/price-series.js';
import { findValueAt, getLookup, type ServedMarket } from '#market/serve/served-markets.js';
import type { Context } from '../shared/context.js';

const LAST_DAY: Day = parseValidDay('9999-12-31');

function refuseUnknownIdentifier(identifier: string, datasetId: string): Refusal {
  return new Refusal('IDENTIFIER_NOT_FOUND', `The data store ${datasetId} does not hold ${identifier}.`, {
    identifier,
    store_id: datasetId,
  });
}

/** Returns the dates of a window. @throws Refusal INVALID_RANGE */
function parseWindow({ start, end }: { readonly start?: string | undefined; readonly end?: string | undefined }): {
  readonly start: Day | null;
  readonly end: Day | null;
} {
  assertOrder({ start, end });
  return {
    start: start === undefined ? null : parseValidDay(start),
    end: end === undefined ? null : parseValidDay(end),
  };
}

/**
 * Checks that every name is one of the accepted names. @throws Refusal VALIDATION_FAILED with one finding per unknown
 * name
 */
function assertKnownIdentifier(names: readonly string[], acceptedNames: readonly string[], path: string): void {
  const unknownNames = names.filter((name) => !acceptedNames.includes(name));
  if (unknownNames.length === 0) return;
  throw refuseWithFindings(
    'query',
    unknownNames.map((name) => ({
      severity: 'error',
      path,
      ...describeUnknownField(`${name} is not one of ${acceptedNames.join(', ')}.`, { name, accepted: acceptedNames }),
    })),
  );
}

/**
 * Returns the corporate actions of a security in a window, and its dividends of the year up to a day. The day is by
 * default the last close of the security.
 */
function listCorporateActions(
  { market, handle }: ServedMarket,
  identifier: string,
  query: ActionsQuery,
): CorporateActionsResponse {
  if (!getLookup(market).holds(identifier)) throw refuseUnknownIdentifier(identifier, handle.datasetId);
  const { start, end } = parseWindow(query);
  const actions = getLookup(market).actionsOf(identifier);
  const actionsInRange = actions.filter(
    ({ exDay }) => (start === null || exDay >= start) && (end === null || exDay <= end),
  );
  const asOf =
    query.as_of === undefined
      ? (getLookup(market).datesOf(identifier)?.end ?? market.dates.at(-1) ?? LAST_DAY)
      : parseValidDay(query.as_of);
  const trailingDividend = computeTrailingDividend(actions, asOf, market.adjustment);
  const close = findCloseAt(market, identifier, asOf);
  return {
    identifier,
    actions: actionsInRange.map(createActionView),
    cumulative_split_ratio: computeCumulativeRatio(actionsInRange),
    as_of: formatDay(asOf),
    trailing_dividend: trailingDividend,
    trailing_dividend_yield: Number.isNaN(close) ? null : trailingDividend / close,
  };
}

function findCloseAt(market: MarketData, identifier: string, day: Day): number {
  const position = getLookup(market).positionOf(identifier);
  return position === undefined ? Number.NaN : findValueAt(market, 'CLOSE', position, day, LIMITS.MAX_STALE_SESSIONS);
}

function createActionView({
  type,
  value,
  exDay,
  payDay,
  status,
  announcedDay,
  related,
  subscriptionPrice,
  cash,
  scripRatio,
  electionDay,
  electionDefault,
  isUnpriced,
}: CorporateAction): CorporateActionsResponse['actions'][number] {
  return {
    type,
    kind: ACTION_KINDS[type],
    value: isUnpriced ? null : value,
    ex_date: formatDay(exDay),
    pay_date: payDay === null ? null : formatDay(payDay),
    status,
    announced: announcedDay === null ? null : formatDay(announcedDay),
    related,
    subscription_price: subscriptionPrice,
    cash: cash ?? null,
    scrip_ratio: scripRatio ?? null,
    election_date: electionDay === undefined ? null : formatDay(electionDay),
    election_default: electionDefault ?? null,
  };
}

const DERIVED_FIELDS = ['MARKET_CAP', 'FREE_FLOAT_MARKET_CAP', 'DIVIDEND_YIELD', 'VALUE_TRADED'] as const;
type DerivedField = (typeof DERIVED_FIELDS)[number];

/** Returns reference values and memberships of a security. @param today default day of the memberships */
function createReference(
  { market, handle }: ServedMarket,
  identifier: string,
  { as_of, today }: { readonly as_of?: string | undefined; readonly today: Day },
): ReferenceResponse {
  const lookup = getLookup(market);
  if (!lookup.holds(identifier)) throw refuseUnknownIdentifier(identifier, handle.datasetId);
  const day = as_of === undefined ? LAST_DAY : parseValidDay(as_of);
  return {
    identifier,
    fields: Object.fromEntries(
      market.reference.columns.map((column) => [column, readReference(market.reference, identifier, column, day)]),
    ),
    universes: lookup
      .membershipsOf(identifier)
      .map((membership) => toMembershipView(membership, as_of === undefined ? today : day)),
  };
}

/** Returns values of many securities from panels, reference columns and derived datapoints. */
function createReferenceBatch(
  { market }: ServedMarket,
  { identifiers, fields, as_of }: BatchQuery,
): BatchReferenceResponse {
  const names = fields ?? market.reference.columns;
  assertKnownIdentifier(names, [...market.reference.columns, ...market.fields.keys(), ...DERIVED_FIELDS], 'fields');
  const day = as_of === undefined ? LAST_DAY : parseValidDay(as_of);
  const entries = identifiers.map((identifier) => {
    const isKnown = getLookup(market).holds(identifier);
    return {
      identifier,
      found: isKnown,
      fields: isKnown ? Object.fromEntries(names.map((name) => [name, getFieldAt(market, identifier, name, day)])) : {},
    };
  });
  return { entries, as_of: as_of ?? null };
}

/** Returns the value of a panel, a reference column or a derived field on a day; null if there is no value. */
function getFieldAt(market: MarketData, identifier: string, name: string, day: Day): ReferenceValue {
  if (market.reference.columns.includes(name)) return readReference(market.reference, identifier, name, day);
  const position = getLookup(market).positionOf(identifier);
  if (position === undefined) return null;
  const value = market.fields.has(name)
    ? findValueAt(market, name, position, day, LIMITS.MAX_STALE_SESSIONS)
    : findDerivationDay(market, identifier, position, { name: name as DerivedField, day }); // checked by assertKnownIdentifier
  return Number.isFinite(value) ? value : null;
}

function findDerivationDay(
  market: MarketData,
  identifier: string,
  position: number,
  { name, day }: { readonly name: DerivedField; readonly day: Day },
): number {
  const getNumber = (field: string) =>
    market.fields.has(field)
      ? findValueAt(market, field, position, day, LIMITS.MAX_STALE_SESSIONS)
      : toNumber(readReference(market.reference, identifier, field, day));
  const hasOwnCap = market.fields.has('MARKET_CAP') || market.reference.columns.includes('MARKET_CAP');
  const computeMarketCap = () =>
    hasOwnCap ? getNumber('MARKET_CAP') : getNumber('CLOSE') * getNumber('SHARES_OUTSTANDING');
  switch (name) {
    case 'MARKET_CAP':
      return computeMarketCap();
    case 'FREE_FLOAT_MARKET_CAP': {
      const freeFloat = getNumber('FREE_FLOAT');
      return computeMarketCap() * (Number.isNaN(freeFloat) ? 1 : freeFloat);
    }
    case 'VALUE_TRADED':
      return getNumber('CLOSE') * getNumber('VOLUME');
    case 'DIVIDEND_YIELD':
      return (
        computeTrailingDividend(
          getLookup(market).actionsOf(identifier),
          Math.min(day, market.dates.at(-1)!),
          market.adjustment,
        ) / getNumber('CLOSE')
      );
  }
}

const toNumber = (value: ReferenceValue): number => (typeof value === 'number' ? value : Number.NaN);

function toMembershipView({ universe, start, end }: Membership, day: Day): ReferenceResponse['universes'][number] {
  return {
    universe,
    name: null,
    start: start === null ? null : formatDay(start),
    end: end === null ? null : formatDay(end),
    current: (start === null || start <= day) && (end === null || day < end),
  };
}

export interface ServedDataset {
  readonly kind: DatasetKind;
  readonly sizeBytes: number | null;
  /** Files of the store, labelled by dataset, such as `market` or `market/2024.parquet`. */
  readonly files: readonly { readonly label: string; readonly bytes: number }[];
}

/** Age in seconds after which daily data is stale: four days, because a long weekend has no data. */
const MARKET_STALE_SECONDS = 345_600;

const SOURCES: Record<DatasetKind, string> = {
  folder: 'local',
  database: 'database',
  imported: 'imported',
  synthetic: 'synthetic',
};

/** Describes each table of the served store. @param now time in ms since 1970 */
function describeCoverage(
  current: ServedMarket | undefined,
  servedDataset: ServedDataset | undefined,
  now: number,
): CoverageResponse {
  if (current === undefined) {
    return {
      datasets: [createUnconfigured('market'), createUnconfigured('reference')],
      identifiers_union: 0,
      cache_size_bytes: null,
    };
  }
  const { market } = current;
  const sharedFields = {
    cache_age: Math.max(0, (now - Date.parse(current.loadedAt)) / 1000),
    last_refreshed: current.loadedAt,
    source: servedDataset === undefined ? null : SOURCES[servedDataset.kind],
  };
  const validFrom = [...market.reference.rows.values()].flatMap((rows) => rows.flatMap((row) => row.validFrom ?? []));
  return {
    datasets: [
      {
        dataset: 'market',
        configured: true,
        identifiers: market.identifiers.length,
        start: formatDay(market.dates[0]!),
        end: formatDay(market.dates.at(-1)!),
        field_count: market.fields.size,
        frequency: 'daily',
        stale_after_seconds: MARKET_STALE_SECONDS,
        ...sharedFields,
        cache_size_bytes: findBytes(servedDataset, 'market'),
      },
      market.reference.rows.size === 0
        ? createUnconfigured('reference')
        : {
            dataset: 'reference',
            configured: true,
            identifiers: market.reference.rows.size,
            ...createSpan(validFrom),
            field_count: market.reference.columns.length,
            frequency: 'static',
            stale_after_seconds: null,
            ...sharedFields,
            cache_size_bytes: findBytes(servedDataset, 'reference'),
          },
    ],
    identifiers_union: getLookup(market).allIdentifiers.length,
    cache_size_bytes: servedDataset?.sizeBytes ?? null,
  };
}

/** Returns the size of a dataset on disk. If the datasets are not separate files, returns the size of the store. */
function findBytes(store: ServedDataset | undefined, dataset: 'market' | 'reference'): number | null {
  const tableFiles = store?.files.filter(({ label }) => label === dataset || label.startsWith(`${dataset}/`)) ?? [];
  return tableFiles.length === 0 ? (store?.sizeBytes ?? null) : tableFiles.reduce((sum, { bytes }) => sum + bytes, 0);
}

function createUnconfigured(dataset: 'market' | 'reference'): CoverageResponse['datasets'][number] {
  return {
    dataset,
    configured: false,
    identifiers: 0,
    start: null,
    end: null,
    field_count: 0,
    frequency: dataset === 'market' ? 'daily' : 'static',
    stale_after_seconds: dataset === 'market' ? MARKET_STALE_SECONDS : null,
    cache_age: null,
    last_refreshed: null,
    cache_size_bytes: null,
    source: null,
  };
}

function createSpan(days: readonly Day[]): { readonly start: string | null; readonly end: string | null } {
  if (days.length === 0) return { start: null, end: null };
  const [start, end] = days.reduce(
    ([low, high], day) => [Math.min(low, day), Math.max(high, day)],
    [Infinity, -Infinity],
  );
  return { start: formatDay(start), end: formatDay(end) };
}

/** Lists what rules can read in the served store, and the values of a new index on it. */
function listFields({ market }: ServedMarket, calendars: Pick<Calendars, 'list'>): FieldList {
  const fields = listFieldNames(market).flatMap((name) => {
    const resolution = resolveName(market, { name, dataset: null });
    if ('missing' in resolution) return [];
    const kind = resolution.dataset === 'reference' ? findReferenceKind(market, name) : 'number';
    return [{ name, dataset: resolution.dataset, kind }];
  });
  const universes = new Set(market.universes.map(({ universe }) => universe));
  return {
    fields,
    universes: [...universes].toSorted(compareText),
    index_defaults: findIndexDefaults(market, calendars),
  };
}

/** Returns securities of the store with an identifier or name that contains a text. */
function searchSecurities(market: MarketData, { q, limit, after }: SearchQuery): IdentifierSearch {
  const lookup = getLookup(market);
  const text = q?.toLowerCase();
  const foundIdentifiers: string[] = [];
  for (const identifier of lookup.allIdentifiers) {
    if (after !== undefined && identifier <= after) continue;
    if (
      text !== undefined &&
      !identifier.toLowerCase().includes(text) &&
      !(findName(market, identifier)?.toLowerCase().includes(text) ?? false)
    )
      continue;
    foundIdentifiers.push(identifier);
    if (foundIdentifiers.length > limit) break;
  }
  const page = foundIdentifiers.slice(0, limit);
  return {
    identifiers: page.map((identifier) => createListedSecurity(market, identifier)),
    next: foundIdentifiers.length > limit ? page.at(-1)! : null,
  };
}

function createListedSecurity(market: MarketData, identifier: string): IdentifierSearch['identifiers'][number] {
  const dates = getLookup(market).datesOf(identifier);
  const findLast = (field: string): number | null => {
    const value = dates === null ? null : getFieldAt(market, identifier, field, dates.end);
    return typeof value === 'number' ? value : null;
  };
  return {
    identifier,
    name: findName(market, identifier),
    start: dates === null ? null : formatDay(dates.start),
    end: dates === null ? null : formatDay(dates.end),
    sector: readLatestText(market, identifier, 'SECTOR'),
    currency: readLatestText(market, identifier, 'CURRENCY') ?? market.currency ?? null,
    close: findLast('CLOSE'),
    market_cap: findLast('MARKET_CAP'),
  };
}

/** Returns series of the store with an identifier or name that contains a text. */
function searchSeries(market: MarketData, { q, limit, after }: SearchQuery): SeriesCollection {
  const text = q?.toLowerCase();
  const matchesSearch = ({ identifier, name }: PriceSeries): boolean =>
    text === undefined || identifier.toLowerCase().includes(text) || (name?.toLowerCase().includes(text) ?? false);
  const series = [...(market.series?.values() ?? [])].filter(
    (security) => (after === undefined || security.identifier > after) && matchesSearch(security),
  );
  const page = series.slice(0, limit);
  return {
    series: page.map(({ identifier, name, currency, days }) => ({
      identifier,
      name,
      currency,
      start: formatDay(days[0]!),
      end: formatDay(days.at(-1)!),
      values: days.length,
    })), // each series has at least one value
    next: series.length > limit ? page.at(-1)!.identifier : null,
  };
}

const findName = (market: MarketData, identifier: string): string | null => readLatestText(market, identifier, 'NAME');

function readLatestText(market: MarketData, identifier: string, column: string): string | null {
  const value = readReference(market.reference, identifier, column, LAST_DAY);
  return value === null ? null : String(value);
}

export interface DataPins extends Readonly<Record<string, string>> {
  readonly store_id: string;
  readonly as_known_on: string;
}

interface ReferenceQuery {
  readonly as_of?: string | undefined;
  readonly as_known_on?: string | undefined;
}

export interface Data {
  /**
   * Returns the query members that pin the content of the store that a read uses. Returns none if the content has no
   * version. @throws the refusals of `DataVersions.at`
   */
  pin(asKnownOn: string | undefined): Promise<DataPins | undefined>;
  /**
   * Returns the response body, as JSON or as an Arrow stream.
   * @throws Refusal NO_DATA_SOURCE, IDENTIFIER_NOT_FOUND, INVALID_RANGE, VALIDATION_FAILED, OVERLOADED
   */
  prices(
    identifier: string,
    query: PricesQuery,
    format: 'json' | 'csv' | 'arrow',
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns reference values of a security. @throws Refusal NO_DATA_SOURCE, IDENTIFIER_NOT_FOUND */
  reference(identifier: string, query: ReferenceQuery): Promise<ReferenceResponse>;
  /** Returns reference values of many securities. @throws Refusal NO_DATA_SOURCE, VALIDATION_FAILED */
  referenceBatch(query: BatchQuery): Promise<BatchReferenceResponse>;
  /** Returns the corporate actions of a security. @throws Refusal NO_DATA_SOURCE, IDENTIFIER_NOT_FOUND, INVALID_RANGE */
  corporateActions(identifier: string, query: ActionsQuery): Promise<CorporateActionsResponse>;
  coverage(): Promise<CoverageResponse>;
  /** Returns a CoverageHistoryResponse as JSON. @throws Refusal NO_DATA_SOURCE, OVERLOADED */
  coverageHistory(signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  source(): DataSourceStatus;
  /** Lists the fields that rules can use. @throws Refusal NO_DATA_SOURCE */
  fields(): FieldList;
  /** Searches securities. @throws Refusal NO_DATA_SOURCE */
  search(query: SearchQuery): IdentifierSearch;
  /** Searches series. @throws Refusal NO_DATA_SOURCE */
  series(query: SearchQuery): SeriesCollection;
}

/** Columns in the usual order of price bars; other columns follow in the order of the files. */
const STANDARD_COLUMNS = ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SHARES_OUTSTANDING', 'FREE_FLOAT'];

/** @param datasetInUse returns the metadata of a store in use */
export function createData(
  { markets, calendars, jobs, dataVersions, now }: Context,
  datasetInUse: (datasetId: string) => Promise<ServedDataset | undefined>,
): Data {
  const getToday = (): Day => Math.floor(now() / 86_400_000);

  async function readPrices(
    identifier: string,
    query: PricesQuery,
    format: 'json' | 'csv' | 'arrow',
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { market, handle } = await dataVersions.servedAt(query.as_known_on);
    const lookup = getLookup(market);
    const series = market.series?.get(identifier);
    if (series === undefined && !lookup.holds(identifier)) throw refuseUnknownIdentifier(identifier, handle.datasetId);
    const availableColumns = series === undefined ? listAvailableColumns(market) : ['CLOSE'];
    const request: SeriesRequest = {
      ...parseWindow(query),
      interval: query.interval,
      columns: query.columns ?? availableColumns,
      adjust: query.adjust,
    };
    assertKnownIdentifier(request.columns, availableColumns, 'columns');
    const ownColumns =
      series === undefined
        ? {
            ...selectBars(market, lookup.positionOf(identifier)),
            actions: lookup.actionsOf(identifier).map((action) => addSpinOffValue(market, action)),
          }
        : convertSeriesToBars(series);
    const bars = { ...ownColumns, adjustment: market.adjustment };
    return (await jobs.query('prices', { identifier, bars, request, format }, signal)).bytes;
  }

  return {
    async pin(asKnownOn) {
      const { served, version } = await dataVersions.at(asKnownOn);
      return version === null ? undefined : { store_id: served.identity.datasetId, as_known_on: String(version) };
    },
    prices: readPrices,
    reference: async (identifier, { as_of, as_known_on }) =>
      createReference(await dataVersions.servedAt(as_known_on), identifier, { as_of, today: getToday() }),
    referenceBatch: async (query) => createReferenceBatch(await dataVersions.servedAt(query.as_known_on), query),
    corporateActions: async (identifier, query) =>
      listCorporateActions(await dataVersions.servedAt(query.as_known_on), identifier, query),
    async coverage() {
      const current = markets.current();
      const datasetInfo = current === undefined ? undefined : await datasetInUse(current.identity.datasetId);
      return describeCoverage(current, datasetInfo, now());
    },
    coverageHistory: async (signal) =>
      (await jobs.query('coverage', { market: markets.require().handle }, signal)).bytes,
    search: (query) => searchSecurities(markets.require().market, query),
    series: (query) => searchSeries(markets.require().market, query),
    fields: () => listFields(markets.require(), calendars),
    source() {
      const current = markets.current();
      return { configured: current !== undefined, identifiers: current?.market.identifiers.length ?? 0 };
    },
  };
}

/**
 * Returns the panels that contain a security, and its position in them. Returns empty panels if no panel contains the
 * security.
 */
function selectBars(
  { dates, fields, identifiers }: MarketData,
  position: number | undefined,
): Pick<SecurityBars, 'dates' | 'fields' | 'names' | 'position'> {
  const panels = [...fields].map(([name, values]) => ({ name, values }));
  if (position !== undefined) return { dates, fields: panels, names: identifiers.length, position };
  return {
    dates: new Int32Array(0),
    fields: panels.map(({ name }) => ({ name, values: new Float64Array(0) })),
    names: 1,
    position: 0,
  };
}

/** Converts a series to bars, so that it can be read like a security of a separate market. */
function convertSeriesToBars({ days, closes }: PriceSeries): Omit<SecurityBars, 'adjustment'> {
  return { dates: days, fields: [{ name: 'CLOSE', values: closes }], names: 1, position: 0, actions: [] };
}

function listAvailableColumns({ fields }: MarketData): string[] {
  const fieldNames = [...fields.keys()];
  return [
    ...STANDARD_COLUMNS.filter((name) => fields.has(name)),
    ...fieldNames.filter((name) => !STANDARD_COLUMNS.includes(name)),
  ];
}
