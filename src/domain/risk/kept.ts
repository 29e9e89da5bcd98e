import type { EngineName } from '#kernels/engines/engine.js';

/** Everything that is measured of a growth panel depends on, besides what is measured. */
export interface Terms {
  readonly engine: EngineName;
  /** Principal components, where they are what is measured. */
  readonly components?: number;
  /** Last session of the window, on which sectors are read. */
  readonly to: number;
  /** Names and sessions that are covered. */
  readonly columns: Int32Array;
  readonly sessions: Int32Array;
}

/** What was measured of a panel under some terms, now unless it is kept: it has the same bits whenever it is measured. */
export type Keep<T> = (growth: Float64Array, terms: Terms, measure: () => T) => T;

/** Kept of a panel: of an index between two rebalances, or of some that hold the same names. Each has less than 0.5 MB. */
const KEPT_MAX = 8;

interface Kept<T> {
  readonly terms: Terms;
  readonly value: T;
}

/** Keeps what was asked for last of every panel; it goes with the panel. */
export function createKeep<T>(): Keep<T> {
  /** The one asked for longest ago first. */
  const keptOf = new WeakMap<Float64Array, Kept<T>[]>();
  return (growth, terms, measure) => {
    const kept = keptOf.get(growth) ?? [];
    const at = kept.findIndex((one) => isSame(one.terms, terms));
    const found = at < 0 ? { terms, value: measure() } : kept.splice(at, 1)[0]!;
    kept.push(found);
    if (kept.length > KEPT_MAX) kept.shift();
    keptOf.set(growth, kept);
    return found.value;
  };
}

function isSame(a: Terms, b: Terms): boolean {
  return (
    a.engine === b.engine &&
    a.components === b.components &&
    a.to === b.to &&
    areEqual(a.columns, b.columns) &&
    areEqual(a.sessions, b.sessions)
  );
}

function areEqual(a: Int32Array, b: Int32Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
