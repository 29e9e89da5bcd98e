/** How a stored run differs from what a run of the same request would give now. */
export interface StaleState {
  /** The index, or a document that it reaches, is not that of the run. */
  readonly definition: boolean;
  /** The served content is not that of the run. */
  readonly data: boolean;
  /** The engine is another version, whose bits differ. */
  readonly engine: boolean;
  /** A sentence each. */
  readonly reasons: readonly string[];
  /** The store of the run, where another one is served; null otherwise. */
  readonly store_id: string | null;
}

/** What every view says of its run. */
export interface RunState {
  /** Version of the index or strategy that was run; null of runs from before there were versions. */
  readonly index_version: number | null;
  readonly stale: StaleState | null;
}

/** Reasons by what they are reasons for. */
export interface StaleReasons extends Readonly<Record<'definition' | 'data' | 'engine', readonly string[]>> {
  /** The store of the run, where another one is served. */
  readonly otherStore: string | null;
}

/** The state that reasons come to; null without any. */
export function staleState({ definition, data, engine, otherStore }: StaleReasons): StaleState | null {
  const reasons = [...definition, ...data, ...engine];
  if (reasons.length === 0) return null;
  return {
    definition: definition.length > 0,
    data: data.length > 0,
    engine: engine.length > 0,
    reasons,
    store_id: otherStore,
  };
}
