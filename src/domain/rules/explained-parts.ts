export interface ExplainedWeighting {
  readonly formula: string;
  readonly parts: Readonly<Record<string, number | string | null>>;
  /** Raw weight before normalisation. */
  readonly raw: number;
  /** Sum of the raw weights of all securities. */
  readonly rawTotal: number;
  /** Weight before limits: raw / rawTotal. */
  readonly uncapped: number;
}

export interface ExplainedCapping {
  readonly cap: number | null;
  readonly floor: number;
  /** Factor before clipping: weight = min(cap, max(floor, scale * uncapped)). */
  readonly scale: number;
  readonly capped: boolean;
  /** Rounds of redistribution under a single cap. */
  readonly rounds: readonly { readonly scale: number; readonly joined: readonly string[] }[];
}

export interface ExplainedDrift {
  /** Weight held at the close of the session; null if the security is no longer held. */
  readonly held: number | null;
  /** Held weight less applied weight. */
  readonly change: number;
}
