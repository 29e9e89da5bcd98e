import type { Program } from '../program/program.js';
import { coldState, copyState, LOWER, PINNED, UPPER, type ActiveState } from './active-state.js';

interface Beginning {
  readonly state: ActiveState;
  /** True when limits on kinks are active from the start. */
  readonly nearby: boolean;
}

/**
 * Where block pivoting begins: at the state of a similar programme; with every name free, limits on kinks left aside;
 * and where those bind, with every name pinned to its kink.
 */
export function* beginnings(program: Program, warm: ActiveState | undefined, isCold: boolean): Generator<Beginning> {
  if (warm !== undefined) yield { state: copyState(warm), nearby: warm.kinks.includes(UPPER) };
  if (!isCold) return;
  if (warm === undefined || warm.kinks.includes(UPPER)) yield { state: coldState(program), nearby: false };
  if (program.kinks.some(({ limit }) => limit !== null) && program.norms.length === 0)
    yield { state: pinnedState(program), nearby: true };
}

/** Every name on the kink of the first limit, where that lies between its bounds. */
function pinnedState(program: Program): ActiveState {
  const state = coldState(program);
  const { n, lower, upper, kinks } = program;
  const first = kinks.findIndex(({ limit }) => limit !== null);
  kinks.forEach(({ limit }, k) => {
    if (limit !== null) state.kinks[k] = UPPER;
  });
  for (let i = 0; i < n; i++) {
    const at = kinks[first]!.at[i]!;
    state.names[i] = at <= lower[i]! ? LOWER : at >= upper[i]! ? UPPER : PINNED + first;
    for (let k = 0; k < kinks.length; k++)
      state.sides[k * n + i] = Math.min(Math.max(at, lower[i]!), upper[i]!) < kinks[k]!.at[i]! ? -1 : 1;
  }
  return state;
}
