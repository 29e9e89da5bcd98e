/** Reason why content is not available. */
export interface Missing {
  readonly missing: string;
}
