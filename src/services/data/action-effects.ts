import type { AffectedIndex, DeskActionEffect } from '#domain/corporate-actions/action-desk.js';

/** First and last ex-date. */
export interface ExDates {
  readonly from: string;
  readonly to: string;
}

/** Indices that the actions of a period affect. */
export interface AffectedIndices {
  /** Indices by security and ex-date (`formatActionKey`), those with the largest weights first. */
  readonly byAction: ReadonlyMap<string, readonly AffectedIndex[]>;
  /** Number of indices whose runs were not read. */
  readonly unread: number;
}

/** Effects of corporate actions on the newest stored run of each index. */
export interface ActionEffects {
  /** Returns the effects that the actions of a security on one ex-date have on every index with a stored run. */
  read(identifier: string, exDate: string, signal: AbortSignal): Promise<readonly DeskActionEffect[]>;
  /** Returns the indices that the actions of a period affect. */
  list(dates: ExDates, signal: AbortSignal): Promise<AffectedIndices>;
}

/** Returns the key of the actions of a security on one ex-date. */
export const formatActionKey = (identifier: string, exDate: string): string => `${exDate} ${identifier}`;
