/** Reasons for a full run although a stored run exists, by their names in the API. */
export const FULL_RUN_REASONS = {
  definition_changed: 'the index, a document to which it refers or the engine has changed since the stored run',
  request_changed: 'the request differs from the request of the stored run, and a later end is not the only difference',
  no_checkpoint: 'the checkpoint of the stored run is missing or unreadable',
  names_changed: 'the securities or fields of the store have changed',
  history_changed: 'the data up to the last session of the stored run has changed',
  no_new_session: 'the stored run already reaches the requested end',
  rebalance: 'a rebalance on the new sessions uses prices of an earlier session',
  new_name: 'a security enters that the run has never held (in runs of earlier builds)',
  holdings_diverged: 'portfolio and index begin or cease to have the same holdings',
  breach:
    'a breach triggers a rebalance or triggered one after the reference date of a new rebalance, or an underlying index rebalances on breaches',
  member_change: 'constituents can change on the new sessions between reviews',
  default_changed:
    'the store has its first delisting, acquisition or merger, which changes a default of the definition',
  overlay: 'an overlay begins to hold cash in another currency, or nested overlays ended on different days',
  file_rewritten: 'the stored run has the maximum number of files and is rewritten',
} as const;
export type FullRunReason = keyof typeof FULL_RUN_REASONS;

/** Reasons in runs stored by earlier versions, with their current names. */
export const EARLIER_FULL_RUN_REASONS = {
  parted: 'holdings_diverged',
  rewritten: 'file_rewritten',
} as const satisfies Readonly<Record<string, FullRunReason>>;

/** Reasons that stored runs may contain. */
export type StoredFullRunReason = FullRunReason | keyof typeof EARLIER_FULL_RUN_REASONS;

// Object.keys returns plain strings.
export const FULL_RUN_REASON_NAMES = Object.keys({ ...FULL_RUN_REASONS, ...EARLIER_FULL_RUN_REASONS }) as [
  StoredFullRunReason,
  ...StoredFullRunReason[],
];

/** Error that reports that a run cannot be resumed. The service then computes the full run, so it is not a failure. */
export class CannotResumeError extends Error {
  override readonly name = 'CannotResumeError';
  readonly reason: FullRunReason;
  constructor(reason: FullRunReason) {
    super(FULL_RUN_REASONS[reason]);
    this.reason = reason;
  }
}
