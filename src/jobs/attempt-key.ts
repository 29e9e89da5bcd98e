/** Key of one attempt of one submission. */
export interface AttemptKey {
  readonly jobId: string;
  /**
   * Sequence number of the submission. It distinguishes submissions with the same job id, because an ended job may be
   * submitted again.
   */
  readonly sequence: number;
  readonly attempt: number;
}
