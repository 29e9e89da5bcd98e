import type { MarketIdentity } from '../market/handle.js';

/**
 * What a commit reports to every process that serves the same documents, by type. Events are data, because the process
 * that acts on one need not be the one that committed. They are notices and no state: a process that was not there when
 * an event came reads the documents instead.
 */
export interface CommitEvents {
  /** A market is served from now on; its dataset is the active one. */
  'market-activated': {
    readonly market: MarketIdentity;
    /** Time of the load, ISO-8601 UTC. */
    readonly loaded_at: string;
  };
  /** A dataset declares another price basis or currency of the same content. */
  'market-declared': Pick<MarketIdentity, 'datasetId' | 'adjustment' | 'currency'>;
  /** The data of a managed dataset lies in another folder now. */
  'folder-replaced': {
    readonly store_id: string;
    /** Path of the folder that it was in. */
    readonly folder: string;
  };
  /** A job with callbacks has ended, and a message is to be delivered. */
  'delivery-due': { readonly delivery_id: string };
  /** A key was made or revoked. */
  'key-changed': { readonly key_id: string };
  /** Somebody has signed out. */
  'session-ended': { readonly person_id: string };
  /** A run has been stored in place of the last one of its index or strategy. */
  'run-stored': { readonly run_id: string };
}

export type CommitEventType = keyof CommitEvents;

export type CommitEvent<T extends CommitEventType = CommitEventType> = {
  readonly [K in T]: { readonly type: K } & CommitEvents[K];
}[T];
