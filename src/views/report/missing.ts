/** Reason why there is nothing to show. */
export interface Missing {
  readonly missing: string;
}
