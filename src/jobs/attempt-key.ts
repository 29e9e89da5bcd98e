/** Key of one attempt of one submission. */
export interface AttemptKey {
  readonly jobId: string;
  /** Sequence number of the submission: an ended job may be submitted again under its id. */
  readonly sequence: number;
  readonly attempt: number;
}
