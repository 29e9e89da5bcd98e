import type { MarketIdentity } from '../market/market-data.js';

/**
 * Events that a commit sends to every process that serves the same documents, by type. Events are data, because another
 * process than the one that committed may handle them. They are notifications, not state: a process that missed an
 * event reads the documents instead.
 */
export interface CommitEvents {
  /** The market is now active, and its dataset is the active dataset. */
  'market-activated': {
    readonly market: MarketIdentity;
    /** Time of the load, ISO-8601 UTC. */
    readonly loaded_at: string;
  };
  /** A dataset declares another price basis or currency for unchanged content. */
  'market-declared': Pick<MarketIdentity, 'datasetId' | 'adjustment' | 'currency'>;
  /** The content of an inactive dataset changed. */
  'store-content': { readonly market: MarketIdentity };
  /** A dataset was removed. */
  'store-removed': { readonly store_id: string };
  /** The data of a managed dataset moved to another folder. */
  'folder-replaced': {
    readonly store_id: string;
    /** Path of the previous folder. */
    readonly folder: string;
  };
  /** A job with callbacks ended, and its message must be delivered. */
  'delivery-due': { readonly delivery_id: string };
  /** Jobs of a kind were paused or resumed. */
  'kind-paused': { readonly kind: string; readonly is_paused: boolean };
  /** A key was created or revoked. */
  'key-changed': { readonly key_id: string };
  /** A person signed out. */
  'session-ended': { readonly person_id: string };
  /** All required persons have approved a change. */
  'approval-given': { readonly approval_id: number };
  /** The recorded changes of a calendar were replaced. */
  'closures-recorded': { readonly calendar: string };
  /** A day of a schedule changed, and none of its steps is running. */
  'day-changed': { readonly schedule_id: string; readonly date: string };
  /** A run was stored and replaced the last run of its index or strategy. */
  'run-stored': { readonly run_id: string };
}

export type CommitEventType = keyof CommitEvents;

export type CommitEvent<T extends CommitEventType = CommitEventType> = {
  readonly [K in T]: { readonly type: K } & CommitEvents[K];
}[T];
