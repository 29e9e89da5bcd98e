import { setImmediate } from 'node:timers/promises';
import type { CommitEvent, CommitEvents } from '#domain/documents/commit-events.js';
import { openMarketGently, reopenMarket, type MarketHandle } from '#domain/market/handle.js';
import { createIdentity, createMarketKey, type MarketIdentity } from '#domain/market/market-identity.js';
import { refuseWhileLoading } from '#domain/market/dataset-loading.js';
import { Refusal, type ErrorDetail } from '#domain/refusals/refusal.js';
import type { VersionFile } from '../sources/known-files.js';
import { createMarketContents } from './market-contents.js';
import { getLookup } from './market-lookup.js';
import type { Markets, ServedMarket } from './markets.js';
import { reportPanelMemory } from '../panels/gc-pressure.js';

/** Active store that could not be read. */
export interface FailedLoad {
  readonly datasetId: string;
  readonly error: ErrorDetail;
}

/** Holder of the served market. One assignment replaces it, and no other module stores it. */
export interface ServedMarkets extends Markets {
  /**
   * Returns the event that this market is served. The transaction that makes its dataset active publishes the event.
   */
  activation(market: ServedMarket): CommitEvent<'market-activated'>;
  /** Serves the market that the event activates. @throws Error if this process has not loaded its content */
  activate(event: CommitEvents['market-activated']): void;
  /** Updates the declared properties of the served market. Does nothing if it has another content than the event. */
  declare(event: CommitEvents['market-declared']): void;
  /**
   * Returns the memory of a market of this process by its identity. The market is always found if `served` returned the
   * identity and it is still referenced.
   * @throws Refusal NO_DATA_SOURCE if the market was replaced and is no longer referenced
   */
  handleOf(identity: MarketIdentity): MarketHandle;
  /** Returns the content of an identity; undefined if this process does not have it. */
  find(identity: MarketIdentity): ServedMarket | undefined;
  /** Registers an earlier content under its identity. The content is kept as long as the identity is referenced. */
  hold(market: ServedMarket): void;
  /** Serves a market from now on. */
  serve(market: ServedMarket): void;
  /**
   * Announces the store that was active before a restart. Until it is served or `settle` is called, no response states
   * that there is no data.
   */
  expect(datasetId: string): void;
  /** Returns the id of the announced store. Returns undefined after it was served or `settle` was called. */
  awaited(): string | undefined;
  /** Returns the active store that could not be read. Returns undefined once another store is served. */
  failure(): FailedLoad | undefined;
  /** Reports that the first load has ended. Contains the reason if the previous store could not be read. */
  settle(failure?: FailedLoad): void;
}

/** Creates the holder. @param onServe called when another market is served */
export function createServedMarkets(onServe: () => void = () => {}): ServedMarkets {
  const contents = createMarketContents();
  let currentMarket: ServedMarket | undefined;
  let expectedId: string | undefined;
  let failedLoad: FailedLoad | undefined;
  let settle = () => {};
  const settledPromise = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const awaitValue = (): string | undefined => (currentMarket === undefined ? expectedId : undefined);

  function findServedMarket(): ServedMarket | undefined {
    const awaitedId = awaitValue();
    if (awaitedId !== undefined) throw refuseWhileLoading(awaitedId);
    return currentMarket;
  }

  function serve(market: ServedMarket): void {
    contents.add(market);
    currentMarket = market;
    failedLoad = undefined;
    onServe();
  }

  return {
    served: () => currentMarket,
    current: findServedMarket,
    require() {
      const servedMarket = findServedMarket();
      if (servedMarket === undefined) throw createNoDataRefusal(failedLoad);
      return servedMarket;
    },
    awaited: awaitValue,
    failure: () => failedLoad,
    settled: () => settledPromise,
    expect(datasetId) {
      expectedId = datasetId;
    },
    activation(market) {
      contents.add(market);
      return { type: 'market-activated', market: market.identity, loaded_at: market.loadedAt };
    },
    find: contents.find,
    handleOf(identity) {
      const servedMarket = contents.find(identity);
      if (servedMarket !== undefined) return servedMarket.handle;
      throw new Refusal('NO_DATA_SOURCE', `The market of the data store ${identity.datasetId} has been replaced.`);
    },
    activate({ market }) {
      const content = contents.find(market);
      if (content === undefined) throw new Error(`no content of ${createMarketKey(market)} is in this process`);
      serve(content);
    },
    declare({ datasetId, adjustment, currency = null }) {
      if (currentMarket?.identity.datasetId !== datasetId) return;
      const declaredMarket = redeclareMarket(currentMarket, { adjustment, currency });
      if (declaredMarket !== currentMarket) serve(declaredMarket);
    },
    hold: contents.add,
    serve,
    settle(failure) {
      expectedId = undefined;
      failedLoad = failure;
      settle();
    },
  };
}

/** Returns a market with changed declarations of its store. */
export function redeclareMarket(
  served: ServedMarket,
  { adjustment, currency = null }: Pick<MarketIdentity, 'adjustment' | 'currency'>,
): ServedMarket {
  const { handle, market, identity } = served;
  if (identity.adjustment === adjustment && (identity.currency ?? null) === currency) return served;
  const declaration = { adjustment, currency };
  return {
    ...served,
    handle: { ...handle, ...declaration },
    identity: { ...identity, ...declaration },
    market: { ...market, ...declaration },
  };
}

function createNoDataRefusal(failed: FailedLoad | undefined): Refusal {
  if (failed === undefined) return new Refusal('NO_DATA_SOURCE', 'No data store is being served; activate one first.');
  const { datasetId, error } = failed;
  return new Refusal('NO_DATA_SOURCE', describeFailure(failed), { store_id: datasetId, error });
}

/** Describes the error of an active store, and how to fix it. */
export function describeFailure({ datasetId, error }: FailedLoad): string {
  const findings = error.detail?.['findings'];
  const [first] = Array.isArray(findings) ? (findings as readonly { readonly message?: unknown }[]) : [];
  const reason = typeof first?.message === 'string' ? `${error.message} ${first.message}` : error.message;
  return `The active data store ${datasetId} could not be read: ${reason} Fix its source and activate it again, or activate another.`;
}

/**
 * Prepares a loaded market and its lookup for serving. Works in small steps, so that requests for the currently served
 * market do not wait.
 */
export async function prepareServedMarket(
  handle: MarketHandle,
  loadedAt: string,
  files: readonly VersionFile[] = [],
): Promise<ServedMarket> {
  reportPanelMemory(handle.fields.map(({ values }) => values));
  const market = await openMarketGently(handle, setImmediate);
  getLookup(market);
  return { handle, identity: createIdentity(handle), market, loadedAt, files };
}

/** Prepares a later version of a market with the same identifiers and tables for serving. */
export function prepareServedAgain(
  handle: MarketHandle,
  { handle: { tables }, market: marketData }: ServedMarket,
  loadedAt: string,
  files: readonly VersionFile[],
): ServedMarket {
  reportPanelMemory(handle.fields.map(({ values }) => values));
  const market = reopenMarket(handle, marketData);
  getLookup(market);
  return { handle: { ...handle, tables }, identity: createIdentity(handle), market, loadedAt, files };
}
