export interface ExplainedWeighting {
  readonly formula: string;
  readonly parts: Readonly<Record<string, number | string | null>>;
  /** Raw weight before normalisation. */
  readonly raw: number;
  /** Sum of the raw weights of all securities. */
  readonly rawTotal: number;
  /** raw / rawTotal. */
  readonly uncapped: number;
}

export interface ExplainedCapping {
  readonly cap: number | null;
  readonly floor: number;
  /** weight = min(cap, max(floor, scale * uncapped)). */
  readonly scale: number;
  readonly capped: boolean;
  /** Redistribution under a single cap, round by round. */
  readonly rounds: readonly { readonly scale: number; readonly joined: readonly string[] }[];
}

export interface ExplainedDrift {
  /** Weight held at the close of the session; null if it is no longer held. */
  readonly held: number | null;
  /** held - applied. */
  readonly change: number;
}
