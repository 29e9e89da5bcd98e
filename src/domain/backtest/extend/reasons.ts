/** Why a stored run is not extended and the whole is run instead. */
export const FULL_RUN_REASONS = {
  definition_changed: 'the index, a document it reaches or the engine is not that of the stored run',
  request_changed: 'the request differs from that of the stored run in more than a later end',
  no_checkpoint: 'the checkpoint of the stored run is not there or cannot be read',
  names_changed: 'the store holds other names or fields than it did',
  history_changed: 'the data of the days up to the last one of the stored run has changed',
  no_new_session: 'the stored run reaches as far already',
  rebalance: 'a rebalance on the new sessions is priced from a session before them',
  new_name: 'the run comes to hold a name that it never held (of runs before this could be extended)',
  parted: 'portfolio and index begin or cease to hold the same',
  rewritten: 'the stored run has been extended so often that it is written anew',
} as const;
export type FullRunReason = keyof typeof FULL_RUN_REASONS;

export const FULL_RUN_REASON_NAMES = Object.keys(FULL_RUN_REASONS) as [FullRunReason, ...FullRunReason[]]; // Object.keys knows texts alone.

/** Why a run cannot be resumed. Not an error: the whole is run instead. */
export class CannotResume extends Error {
  override readonly name = 'CannotResume';
  readonly reason: FullRunReason;
  constructor(reason: FullRunReason) {
    super(FULL_RUN_REASONS[reason]);
    this.reason = reason;
  }
}
