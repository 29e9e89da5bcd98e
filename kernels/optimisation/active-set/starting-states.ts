import type { Program } from '../program/program.js';
import { createColdState, copyState, LOWER, PINNED, UPPER, type ActiveState } from './active-state.js';

interface StartingState {
  readonly state: ActiveState;
  /** True if limits on kinks may change their states during block pivoting. */
  readonly nearby: boolean;
}

/**
 * Yields initial states for block pivoting. First the state of a similar program; then the state with all securities
 * free, which ignores limits on kinks. For a program with such limits and no norms, the last state has all securities
 * pinned to their kink.
 */
export function* listStartingStates(
  program: Program,
  warm: ActiveState | undefined,
  isCold: boolean,
): Generator<StartingState> {
  if (warm !== undefined) yield { state: copyState(warm), nearby: warm.kinks.includes(UPPER) };
  if (!isCold) return;
  if (warm === undefined || warm.kinks.includes(UPPER)) yield { state: createColdState(program), nearby: false };
  if (program.kinks.some(({ limit }) => limit !== null) && program.norms.length === 0)
    yield { state: createPinnedState(program), nearby: true };
}

/** Returns the state with every security on the kink of the first limit, if the kink is between its bounds. */
function createPinnedState(program: Program): ActiveState {
  const state = createColdState(program);
  const { n, lower, upper, kinks } = program;
  const first = kinks.findIndex(({ limit }) => limit !== null);
  kinks.forEach(({ limit }, k) => {
    if (limit !== null) state.kinks[k] = UPPER;
  });
  for (let i = 0; i < n; i++) {
    const position = kinks[first]!.at[i]!;
    state.names[i] = position <= lower[i]! ? LOWER : position >= upper[i]! ? UPPER : PINNED + first;
    for (let k = 0; k < kinks.length; k++)
      state.sides[k * n + i] = Math.min(Math.max(position, lower[i]!), upper[i]!) < kinks[k]!.at[i]! ? -1 : 1;
  }
  return state;
}
