import type { EngineName } from '#kernels/engines/engine.js';

/** Inputs of a measurement in addition to the growth panel. */
export interface MeasureTerms {
  readonly engine: EngineName;
  /** Number of principal components; only for their measurement. */
  readonly components?: number;
  /** Last session of the window, whose sectors apply. */
  readonly to: number;
  /** Covered securities and sessions. */
  readonly columns: Int32Array;
  readonly sessions: Int32Array;
}

/**
 * Returns the cached measurement of a panel under given terms. If there is none, measures the panel. A cached
 * measurement is bit-identical to a new one.
 */
export type MeasureCache<T> = (growth: Float64Array, terms: MeasureTerms, measure: () => T) => T;

/**
 * Maximum number of cached measurements per panel. It suffices for one index between two rebalances, or for indices
 * with equal securities. Each has less than 0.5 MB.
 */
const ENTRIES_MAX = 8;

interface Entry<T> {
  readonly terms: MeasureTerms;
  readonly value: T;
}

/** Creates a cache of the latest measurements of each panel. The entries exist as long as the panel. */
export function createMeasureCache<T>(): MeasureCache<T> {
  /** ordered from least to most recently used */
  const entriesByGrowth = new WeakMap<Float64Array, Entry<T>[]>();
  return (growth, terms, measure) => {
    const entries = entriesByGrowth.get(growth) ?? [];
    const position = entries.findIndex((one) => isSame(one.terms, terms));
    const result = position < 0 ? { terms, value: measure() } : entries.splice(position, 1)[0]!;
    entries.push(result);
    if (entries.length > ENTRIES_MAX) entries.shift();
    entriesByGrowth.set(growth, entries);
    return result.value;
  };
}

function isSame(a: MeasureTerms, b: MeasureTerms): boolean {
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
