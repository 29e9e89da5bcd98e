/** One attempt of one submission. */
export interface AttemptKey {
  readonly jobId: string;
  /** Submission that the attempt is of: an ended job may be submitted again under its id. */
  readonly sequence: number;
  readonly attempt: number;
}
