import type { EngineName } from '#kernels/engines/engine.js';
import type { FactorModel } from './factor-risk.js';

/** Everything a factor model depends on besides the growth panel. */
export interface ModelTerms {
  readonly engine: EngineName;
  readonly model: string;
  readonly factors: number;
  /** Last session of the window, on which sectors are read. */
  readonly to: number;
  /** Names and sessions that are covered. */
  readonly columns: Int32Array;
  readonly sessions: Int32Array;
}

/** Models kept of a panel: of an index between two rebalances, or of some that hold the same names. Each has less than 0.5 MB. */
const MODELS_MAX = 8;

interface Kept {
  readonly terms: ModelTerms;
  readonly model: FactorModel;
}

/** The one asked for longest ago first; they go with the panel. */
const keptOf = new WeakMap<Float64Array, Kept[]>();

/** The factor model of a growth panel under some terms, made now unless it is kept: it has the same bits whenever it is made. */
export function keptModel(growth: Float64Array, terms: ModelTerms, make: () => FactorModel): FactorModel {
  const kept = keptOf.get(growth) ?? [];
  const at = kept.findIndex((one) => isSame(one.terms, terms));
  const found = at < 0 ? { terms, model: make() } : kept.splice(at, 1)[0]!;
  kept.push(found);
  if (kept.length > MODELS_MAX) kept.shift();
  keptOf.set(growth, kept);
  return found.model;
}

function isSame(a: ModelTerms, b: ModelTerms): boolean {
  return a.engine === b.engine && a.model === b.model && a.factors === b.factors && a.to === b.to && areEqual(a.columns, b.columns) && areEqual(a.sessions, b.sessions);
}

function areEqual(a: Int32Array, b: Int32Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
