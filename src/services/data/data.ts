import type { CoverageResponse } from '#contract/coverage.js';
import type {
  ActionsQuery,
  BatchQuery,
  BatchReferenceResponse,
  CorporateActionsResponse,
  DataSourceStatus,
  FieldList,
  IdentifierSearch,
  PricesQuery,
  ReferenceResponse,
  SearchQuery,
  SeriesCollection,
} from '#contract/data.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { Day } from '#domain/time/days.js';
import { addSpinOffValue } from '#domain/index-mathematics/spin-offs.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { PriceSeries } from '#domain/market/series.js';
import type { Jobs } from '#jobs/job-kind.js';
import { getLookup } from '#market/serving/market-lookup.js';
import type { Markets } from '#market/serving/markets.js';
import type { SecurityBars, SeriesRequest } from '#market/serving/price-series.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { refuseUnknownIdentifier, parseWindow, assertKnownIdentifier } from './window.js';
import { createReference, createReferenceBatch } from './reference.js';
import { listCorporateActions } from './actions.js';
import { type ServedDataset, describeCoverage } from '../datasets/coverage.js';
import { listFields } from './fields.js';
import { searchSecurities, searchSeries } from './search.js';

export interface DataDependencies {
  readonly markets: Markets;
  readonly calendars: Pick<Calendars, 'list'>;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly dataVersions: Pick<DataVersions, 'servedAt'>;
  /** Returns the metadata of a store in use. */
  readonly datasetInUse: (datasetId: string) => Promise<ServedDataset | undefined>;
  /** Returns the current time in ms since 1970. */
  readonly now: () => number;
}

interface ReferenceQuery {
  readonly as_of?: string | undefined;
  readonly as_known_on?: string | undefined;
}

export interface Data {
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

export function createData({ markets, calendars, jobs, dataVersions, datasetInUse, now }: DataDependencies): Data {
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
