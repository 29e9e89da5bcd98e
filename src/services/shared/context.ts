import type { dataVersionRoutes, DataVersionsPayload as DataVersionList } from '#contract/stores.js';
import type { QueryOf } from '#contract/route.js';
import type { StaleState } from '#domain/backtest/plan.js';
import type { AsKnownOn } from '#domain/base/schema.js';
import type { RecordedClosures } from '#domain/calendars/calendar.js';
import type { LiveCalendars } from '#domain/calendars/exchange-calendars.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import type { CommitEvents } from '#domain/definition/commit-events.js';
import type { RunDocument } from '#domain/definition/runs.js';
import type { JobSystem } from '#jobs/port/job-kind.js';
import type { EarlierContentReferences } from '#jobs/tasks/catalogue.js';
import type { Markets, ServedMarket } from '#market/serve/served-markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { SecretBox } from '#store/secret-box.js';
import type { Approvals } from './approvals.js';

/**
 * Shared parts of the services of a process. A service gets the context first, then its own parts, such as its kind of
 * job or another service. Jobs have a context whose documents wait while the database is unavailable.
 */
export interface Context {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  /** Jobs and interactive work. A submitted job runs on the store of the call that submits it. */
  readonly jobs: JobSystem;
  /** Market that a call reads: the market of the store that the call names, otherwise of the active store. */
  readonly markets: Markets;
  readonly stores: StoreMarkets;
  readonly dataVersions: DataVersions;
  readonly states: RunStates;
  readonly calendars: FollowingCalendars;
  readonly approvals: Approvals;
  readonly secrets: SecretBox;
  /** Returns the current time in ms since 1970. Processes that share a database have the same time. */
  readonly now: () => number;
  /** Returns the current time as documents contain it, ISO-8601. */
  readonly timestamp: () => string;
  readonly engineVersion: string;
  /** Number of threads of the pool. */
  readonly workers: number;
}

/** Calendars of this process. They include the changes that any process records. */
export interface FollowingCalendars extends LiveCalendars {
  /**
   * Applies the changes that are recorded now. Reads are made one after another, so the result of the last read is the
   * newest.
   */
  follow(): Promise<void>;
  /**
   * Adds a listener that is called after changes were applied to the calendars.
   * @returns a function that removes the listener
   */
  onFollowed(listener: (code: string) => void): () => void;
}

/** Markets of all data stores. The active store is in memory; another store is loaded when it is first used. */
export interface StoreMarkets {
  /**
   * Returns the present market of a store.
   * @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, STORE_LOADING, STORE_UNAVAILABLE; VALIDATION_FAILED,
   * NOT_SUPPORTED if its source cannot be read
   */
  of(datasetId: string): Promise<ServedMarket>;
  /**
   * Runs work on the market of a store. If no store is given, the work uses the market of the current call. @throws
   * Refusal, see `of`
   */
  within<T>(datasetId: string | null | undefined, work: () => T | Promise<T>): Promise<T>;
  /** Caches the new content of an inactive store, if this process has the content. */
  onContent(event: CommitEvents['store-content']): void;
  onRemoved(event: CommitEvents['store-removed']): void;
  /** Returns the ids of the cached stores other than the active store, least recently used first. */
  listKept(): readonly string[];
}

/** Contents of data stores that have been served. */
export interface DataVersions {
  /** Lists versions, newest first. @throws Refusal STORE_NOT_FOUND */
  list(datasetId: string, query: VersionsQuery): Promise<DataVersionList>;
  /**
   * Returns the served store as it was known at a time. Without a time, returns the current content.
   * @throws Refusal NO_DATA_SOURCE, NO_DATA_KNOWN, VERSION_NOT_FOUND, DOCUMENT_UNREADABLE, OVERLOADED
   */
  at(asKnownOn: AsKnownOn | undefined): Promise<VersionedMarket>;
  /** Returns the market of `at` without the version. If no date is given, nothing is read. */
  servedAt(asKnownOn: AsKnownOn | undefined): Promise<ServedMarket>;
  /**
   * Returns the earlier contents of the served store that are available. The first content counts as known from the
   * start of the history.
   * @param version version of the content; null if the version is unknown
   * @throws Refusal NO_DATA_KNOWN, VERSION_NOT_FOUND, DOCUMENT_UNREADABLE
   */
  before(version: number | null): Promise<EarlierContentReferences>;
  /**
   * Compares two versions of the store whose market this call uses. Returns a DataDifference as JSON. @throws Refusal
   * STORE_NOT_FOUND, and the refusals of `at`
   */
  difference(datasetId: string, query: DifferenceQuery, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns the version that has this content; null if there is none. */
  findVersion(datasetId: string, contentHash: string): Promise<number | null>;
}

/** Served market with its position in the history of its store. */
export interface VersionedMarket {
  readonly served: ServedMarket;
  /** Number of the version; null if the content was served before versions existed. */
  readonly version: number | null;
}

export interface VersionsQuery {
  readonly limit: number;
  readonly before?: number | undefined;
}

export type DifferenceQuery = QueryOf<typeof dataVersionRoutes.diffDataVersions>;

/** States of stored runs: whether a run is stale, and which market a view of it may read. */
export interface RunStates {
  /**
   * Returns null if the same request on the current data would give the stored result; otherwise why the run is stale.
   * @cost of a look-up, until a definition changes
   */
  findStaleState(run: RunDocument, terms?: Partial<StateTerms>): Promise<StaleState | null>;
  /**
   * Returns the reasons why recorded calendar changes would make a run stale. Returns no reasons if it stays current.
   */
  reasonsWith(run: RunDocument, closures: RecordedClosures): Promise<readonly string[]>;
  /**
   * Returns the plan that the request of a stored run would get now. @throws the refusals of `BacktestPlans.planRun`
   */
  planNow(run: RunDocument): Promise<BacktestPlan>;
  /**
   * Returns the market of a run's store, for a view that needs prices.
   * @throws Refusal NO_DATA_SOURCE, STORE_UNAVAILABLE, STORE_MISMATCH if the store cannot be read
   */
  requireMarket(run: RunDocument): Promise<ServedMarket>;
  /**
   * Returns the same market as `requireMarket`. Returns undefined if the store of the run is unknown and no store is
   * active.
   * @throws Refusal STORE_MISMATCH
   */
  servedMarket(run: RunDocument): Promise<ServedMarket | undefined>;
  /**
   * Returns the same market as `servedMarket`. Returns undefined if the store is unreadable, for views that can leave
   * out figures.
   */
  findMarket(run: RunDocument): Promise<ServedMarket | undefined>;
  /** Returns the store on which a run is computed; undefined for the active store. */
  findStore(run: RunDocument): Promise<string | undefined>;
}

export interface StateTerms {
  /** True to compare with the content that the run used. Set for a run on data as it was known at a version. */
  readonly isOfThen: boolean;
}
