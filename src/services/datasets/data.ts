import type {
  ActionsQuery,
  BatchQuery,
  BatchReferenceResponse,
  CorporateActionsResponse,
  CoverageResponse,
  DataSourceStatus,
  IdentifierSearch,
  PricesQuery,
  ReferenceResponse,
  SearchQuery,
  SeriesCollection,
} from '#contract/data.js';
import { dayFrom, formatDay, type Day } from '#domain/days.js';
import type { StoreKind } from '#domain/documents/store-document.js';
import { LIMITS } from '#domain/limits.js';
import {
  ACTION_KINDS,
  referenceAt,
  type CorporateAction,
  type MarketData,
  type Membership,
  type ReferenceValue,
} from '#domain/market/market-data.js';
import type { PriceSeries } from '#domain/market/series.js';
import { Refusal, refuseWithFindings } from '#domain/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import { cumulativeRatio, trailingDividend } from '#market/content/dividends.js';
import { lookupOf, valueAt } from '#market/serving/market-lookup.js';
import type { Markets, ServedMarket } from '#market/serving/markets.js';
import type { NameBars, SeriesRequest } from '#market/serving/price-series.js';

/** What is known of the served store besides its values. */
export interface ServedStore {
  readonly kind: StoreKind;
  readonly sizeBytes: number | null;
  /** Its files: those of a dataset are labelled by it, as `market` or `market/2024.parquet`. */
  readonly files: readonly { readonly label: string; readonly bytes: number }[];
}

export interface DataDependencies {
  readonly markets: Markets;
  readonly jobs: Pick<Jobs, 'query'>;
  /** What is known of the served store besides its values. */
  readonly served: () => Promise<ServedStore | undefined>;
  /** ms since 1970. */
  readonly now: () => number;
}

export interface Data {
  /** The body of the answer, as JSON or as an Arrow stream. @throws Refusal NO_DATA_SOURCE, IDENTIFIER_NOT_FOUND, INVALID_RANGE, VALIDATION_FAILED, OVERLOADED */
  prices(
    identifier: string,
    query: PricesQuery,
    format: 'json' | 'arrow',
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>>;
  /** @throws Refusal NO_DATA_SOURCE, IDENTIFIER_NOT_FOUND */
  reference(identifier: string, query: { readonly as_of?: string | undefined }): ReferenceResponse;
  /** @throws Refusal NO_DATA_SOURCE, VALIDATION_FAILED */
  referenceBatch(query: BatchQuery): BatchReferenceResponse;
  /** @throws Refusal NO_DATA_SOURCE, IDENTIFIER_NOT_FOUND, INVALID_RANGE */
  corporateActions(identifier: string, query: ActionsQuery): CorporateActionsResponse;
  coverage(): Promise<CoverageResponse>;
  source(): DataSourceStatus;
  /** @throws Refusal NO_DATA_SOURCE */
  search(query: SearchQuery): IdentifierSearch;
  /** @throws Refusal NO_DATA_SOURCE */
  series(query: SearchQuery): SeriesCollection;
}

/** Four days: a long weekend does not make daily data stale. */
const MARKET_STALE_SECONDS = 345_600;

/** Later than any day that data is of. */
const LATEST: Day = dayFrom('9999-12-31');

const SOURCES: Record<StoreKind, string> = {
  folder: 'local',
  database: 'database',
  imported: 'imported',
  synthetic: 'synthetic',
};

/** Columns in the order in which people read bars; others follow in the order of the files. */
const USUAL_COLUMNS = ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SHARES_OUTSTANDING', 'FREE_FLOAT'];

const DERIVED = ['MARKET_CAP', 'FREE_FLOAT_MARKET_CAP', 'DIVIDEND_YIELD', 'VALUE_TRADED'] as const;
type Derived = (typeof DERIVED)[number];

export function createData({ markets, jobs, served, now }: DataDependencies): Data {
  const today = (): Day => Math.floor(now() / 86_400_000);

  async function prices(
    identifier: string,
    query: PricesQuery,
    format: 'json' | 'arrow',
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { market, handle } = markets.require();
    const lookup = lookupOf(market);
    const series = market.series?.get(identifier);
    if (series === undefined && !lookup.holds(identifier)) throw unknownIdentifier(identifier, handle.storeId);
    const held = series === undefined ? heldColumns(market) : ['CLOSE'];
    const request: SeriesRequest = {
      ...window(query),
      interval: query.interval,
      columns: query.columns ?? held,
      adjust: query.adjust,
    };
    assertKnown(request.columns, held, 'columns');
    const own =
      series === undefined
        ? { ...barsOf(market, lookup.positionOf(identifier)), actions: lookup.actionsOf(identifier) }
        : barsOfSeries(series);
    const bars = { ...own, adjustment: market.adjustment };
    return (await jobs.query('prices', { identifier, bars, request, format }, signal)).bytes;
  }

  function reference(identifier: string, { as_of }: { readonly as_of?: string | undefined }): ReferenceResponse {
    const { market, handle } = markets.require();
    const lookup = lookupOf(market);
    if (!lookup.holds(identifier)) throw unknownIdentifier(identifier, handle.storeId);
    const day = as_of === undefined ? LATEST : dayFrom(as_of);
    return {
      identifier,
      fields: Object.fromEntries(
        market.reference.columns.map((column) => [column, referenceAt(market.reference, identifier, column, day)]),
      ),
      universes: lookup
        .membershipsOf(identifier)
        .map((spell) => membershipView(spell, as_of === undefined ? today() : day)),
    };
  }

  function referenceBatch({ identifiers, fields, as_of }: BatchQuery): BatchReferenceResponse {
    const { market } = markets.require();
    const names = fields ?? market.reference.columns;
    assertKnown(names, [...market.reference.columns, ...market.fields.keys(), ...DERIVED], 'fields');
    const day = as_of === undefined ? LATEST : dayFrom(as_of);
    const entries = identifiers.map((identifier) => {
      const found = lookupOf(market).holds(identifier);
      return {
        identifier,
        found,
        fields: found ? Object.fromEntries(names.map((name) => [name, fieldAt(market, identifier, name, day)])) : {},
      };
    });
    return { entries, as_of: as_of ?? null };
  }

  function corporateActions(identifier: string, query: ActionsQuery): CorporateActionsResponse {
    const { market, handle } = markets.require();
    if (!lookupOf(market).holds(identifier)) throw unknownIdentifier(identifier, handle.storeId);
    const { start, end } = window(query);
    const all = lookupOf(market).actionsOf(identifier);
    const shown = all.filter(({ exDay }) => (start === null || exDay >= start) && (end === null || exDay <= end));
    const asOf = query.as_of === undefined ? (market.dates.at(-1) ?? LATEST) : dayFrom(query.as_of);
    const trailing = trailingDividend(all, asOf, market.adjustment);
    const close = closeAt(market, identifier, asOf);
    return {
      identifier,
      actions: shown.map(actionView),
      cumulative_split_ratio: cumulativeRatio(shown),
      trailing_dividend: trailing,
      trailing_dividend_yield: Number.isNaN(close) ? null : trailing / close,
    };
  }

  async function coverage(): Promise<CoverageResponse> {
    const current = markets.current();
    const about = await served();
    if (current === undefined) {
      return {
        datasets: [unconfigured('market'), unconfigured('reference')],
        identifiers_union: 0,
        cache_size_bytes: null,
      };
    }
    const { market } = current;
    const shared = {
      cache_age: Math.max(0, (now() - Date.parse(current.loadedAt)) / 1000),
      last_refreshed: current.loadedAt,
      source: about === undefined ? null : SOURCES[about.kind],
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
          ...shared,
          cache_size_bytes: bytesOf(about, 'market'),
        },
        market.reference.rows.size === 0
          ? unconfigured('reference')
          : {
              dataset: 'reference',
              configured: true,
              identifiers: market.reference.rows.size,
              ...spanOf(validFrom),
              field_count: market.reference.columns.length,
              frequency: 'static',
              stale_after_seconds: null,
              ...shared,
              cache_size_bytes: bytesOf(about, 'reference'),
            },
      ],
      identifiers_union: lookupOf(market).allIdentifiers.length,
      cache_size_bytes: about?.sizeBytes ?? null,
    };
  }

  function search({ q, limit, after }: SearchQuery): IdentifierSearch {
    const { market } = markets.require();
    const lookup = lookupOf(market);
    const wanted = q?.toLowerCase();
    const matching: string[] = [];
    for (const identifier of lookup.allIdentifiers) {
      if (after !== undefined && identifier <= after) continue;
      if (
        wanted !== undefined &&
        !identifier.toLowerCase().includes(wanted) &&
        !(nameOf(market, identifier)?.toLowerCase().includes(wanted) ?? false)
      )
        continue;
      matching.push(identifier);
      if (matching.length > limit) break;
    }
    const page = matching.slice(0, limit);
    return {
      identifiers: page.map((identifier) => {
        const dates = lookup.datesOf(identifier);
        return {
          identifier,
          name: nameOf(market, identifier),
          start: dates === null ? null : formatDay(dates.start),
          end: dates === null ? null : formatDay(dates.end),
        };
      }),
      next: matching.length > limit ? page.at(-1)! : null,
    };
  }

  function series({ q, limit, after }: SearchQuery): SeriesCollection {
    const wanted = q?.toLowerCase();
    const isWanted = ({ identifier, name }: PriceSeries): boolean =>
      wanted === undefined ||
      identifier.toLowerCase().includes(wanted) ||
      (name?.toLowerCase().includes(wanted) ?? false);
    const all = [...(markets.require().market.series?.values() ?? [])].filter(
      (one) => (after === undefined || one.identifier > after) && isWanted(one),
    );
    const page = all.slice(0, limit);
    return {
      series: page.map(({ identifier, name, currency, days }) => ({
        identifier,
        name,
        currency,
        start: formatDay(days[0]!),
        end: formatDay(days.at(-1)!),
        values: days.length,
      })), // each has a value
      next: all.length > limit ? page.at(-1)!.identifier : null,
    };
  }

  return {
    prices,
    reference,
    referenceBatch,
    corporateActions,
    coverage,
    search,
    series,
    source() {
      const current: ServedMarket | undefined = markets.current();
      return { configured: current !== undefined, identifiers: current?.market.identifiers.length ?? 0 };
    },
  };
}

function unknownIdentifier(identifier: string, storeId: string): Refusal {
  return new Refusal('IDENTIFIER_NOT_FOUND', `The data store ${storeId} does not hold ${identifier}.`);
}

/** Where the bars of a name lie; of one that only other datasets name there is none. */
function barsOf(
  { dates, fields, identifiers }: MarketData,
  position: number | undefined,
): Pick<NameBars, 'dates' | 'fields' | 'names' | 'position'> {
  const panels = [...fields].map(([name, values]) => ({ name, values }));
  if (position !== undefined) return { dates, fields: panels, names: identifiers.length, position };
  return {
    dates: new Int32Array(0),
    fields: panels.map(({ name }) => ({ name, values: new Float64Array(0) })),
    names: 1,
    position: 0,
  };
}

/** The values of a series as the bars of a market of its own. */
function barsOfSeries({ days, closes }: PriceSeries): Omit<NameBars, 'adjustment'> {
  return { dates: days, fields: [{ name: 'CLOSE', values: closes }], names: 1, position: 0, actions: [] };
}

/** The dates of a window. @throws Refusal INVALID_RANGE */
function window({ start, end }: { readonly start?: string | undefined; readonly end?: string | undefined }): {
  readonly start: Day | null;
  readonly end: Day | null;
} {
  if (start !== undefined && end !== undefined && start > end)
    throw new Refusal('INVALID_RANGE', `The start ${start} lies after the end ${end}.`);
  return { start: start === undefined ? null : dayFrom(start), end: end === undefined ? null : dayFrom(end) };
}

function heldColumns({ fields }: MarketData): string[] {
  const held = [...fields.keys()];
  return [...USUAL_COLUMNS.filter((name) => fields.has(name)), ...held.filter((name) => !USUAL_COLUMNS.includes(name))];
}

/** @throws Refusal VALIDATION_FAILED with one finding per unknown name */
function assertKnown(names: readonly string[], accepted: readonly string[], path: string): void {
  const unknown = names.filter((name) => !accepted.includes(name));
  if (unknown.length === 0) return;
  throw refuseWithFindings(
    'query',
    unknown.map((name) => ({
      severity: 'error',
      code: 'UNKNOWN_FIELD_NAME',
      path,
      message: `${name} is not one of ${accepted.join(', ')}.`,
      accepted,
      value: name,
    })),
  );
}

function fieldAt(market: MarketData, identifier: string, name: string, day: Day): ReferenceValue {
  if (market.reference.columns.includes(name)) return referenceAt(market.reference, identifier, name, day);
  const position = lookupOf(market).positionOf(identifier);
  if (position === undefined) return null;
  const value = market.fields.has(name)
    ? valueAt(market, name, position, day, LIMITS.MAX_STALE_SESSIONS)
    : derivedAt(market, identifier, position, { name: name as Derived, day }); // one of the two, as was asserted
  return Number.isFinite(value) ? value : null;
}

function derivedAt(
  market: MarketData,
  identifier: string,
  position: number,
  { name, day }: { readonly name: Derived; readonly day: Day },
): number {
  const at = (field: string) =>
    market.fields.has(field)
      ? valueAt(market, field, position, day, LIMITS.MAX_STALE_SESSIONS)
      : numberOf(referenceAt(market.reference, identifier, field, day));
  const hasOwnCap = market.fields.has('MARKET_CAP') || market.reference.columns.includes('MARKET_CAP');
  const cap = () => (hasOwnCap ? at('MARKET_CAP') : at('CLOSE') * at('SHARES_OUTSTANDING'));
  switch (name) {
    case 'MARKET_CAP':
      return cap();
    case 'FREE_FLOAT_MARKET_CAP': {
      const freeFloat = at('FREE_FLOAT');
      return cap() * (Number.isNaN(freeFloat) ? 1 : freeFloat);
    }
    case 'VALUE_TRADED':
      return at('CLOSE') * at('VOLUME');
    case 'DIVIDEND_YIELD':
      return (
        trailingDividend(
          lookupOf(market).actionsOf(identifier),
          Math.min(day, market.dates.at(-1)!),
          market.adjustment,
        ) / at('CLOSE')
      );
  }
}

const numberOf = (value: ReferenceValue): number => (typeof value === 'number' ? value : Number.NaN);

function closeAt(market: MarketData, identifier: string, day: Day): number {
  const position = lookupOf(market).positionOf(identifier);
  return position === undefined ? Number.NaN : valueAt(market, 'CLOSE', position, day, LIMITS.MAX_STALE_SESSIONS);
}

function actionView({
  type,
  value,
  exDay,
  payDay,
  status,
  announcedDay,
  related,
  subscriptionPrice,
}: CorporateAction): CorporateActionsResponse['actions'][number] {
  return {
    type,
    kind: ACTION_KINDS[type],
    value,
    ex_date: formatDay(exDay),
    pay_date: payDay === null ? null : formatDay(payDay),
    status,
    announced: announcedDay === null ? null : formatDay(announcedDay),
    related,
    subscription_price: subscriptionPrice,
  };
}

function membershipView({ universe, start, end }: Membership, day: Day): ReferenceResponse['universes'][number] {
  return {
    universe,
    name: null,
    start: start === null ? null : formatDay(start),
    end: end === null ? null : formatDay(end),
    current: (start === null || start <= day) && (end === null || day < end),
  };
}

function nameOf(market: MarketData, identifier: string): string | null {
  const name = referenceAt(market.reference, identifier, 'NAME', LATEST);
  return name === null ? null : String(name);
}

/** Bytes on disk of a dataset; those of the whole store where its datasets are not files of their own. */
function bytesOf(store: ServedStore | undefined, dataset: 'market' | 'reference'): number | null {
  const own = store?.files.filter(({ label }) => label === dataset || label.startsWith(`${dataset}/`)) ?? [];
  return own.length === 0 ? (store?.sizeBytes ?? null) : own.reduce((sum, { bytes }) => sum + bytes, 0);
}

function unconfigured(dataset: 'market' | 'reference'): CoverageResponse['datasets'][number] {
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

function spanOf(days: readonly Day[]): { readonly start: string | null; readonly end: string | null } {
  if (days.length === 0) return { start: null, end: null };
  const [start, end] = days.reduce(
    ([low, high], day) => [Math.min(low, day), Math.max(high, day)],
    [Infinity, -Infinity],
  );
  return { start: formatDay(start), end: formatDay(end) };
}
