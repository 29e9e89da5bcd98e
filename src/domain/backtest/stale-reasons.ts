/** Kinds of differences between a stored run and a new run of its request. */
export interface StaleState {
  /** True if the index, or a document that it refers to, changed since the run. */
  readonly definition: boolean;
  /** True if the data changed since the run. */
  readonly data: boolean;
  /** True if this engine version may produce other results. */
  readonly engine: boolean;
  /** Differences between the stored run and a new run, one sentence each. */
  readonly reasons: readonly string[];
  /** Name of the run's store; null if that store is in use. */
  readonly store_id: string | null;
}

/** State of a run that every view of it reports. */
export interface RunState {
  /** Version of the index or strategy at the time of the run; null for runs before versions were introduced. */
  readonly index_version: number | null;
  /** Data store of the run; null for runs that were stored without it. */
  readonly store_id: string | null;
  readonly stale: StaleState | null;
}

/** Reasons for staleness by kind. */
export interface StaleReasons extends Readonly<Record<'definition' | 'data' | 'engine', readonly string[]>> {
  /** Name of the run's store; null if that store is in use. */
  readonly otherStore: string | null;
}

/** Combines the reasons into a staleness state. Returns null if there are none. */
export function combineStaleReasons({ definition, data, engine, otherStore }: StaleReasons): StaleState | null {
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
