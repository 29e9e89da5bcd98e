import type { CounterRandom } from '#kernels/random/counter-random.js';
import type { Birth } from './company.js';
import { drawCompanyName } from './names.js';
import { toTick } from './draw-bar.js';

/** Fraction of new listings that are spun off from a listed security. */
export const SPIN_OFF_SHARE = 0.1;
export const SPIN_OFFS_MAX = 6;

interface Parent {
  readonly birth: Birth;
  readonly ordinal: number;
  readonly session: number;
  readonly price: number;
  readonly shares: number;
  readonly random: CounterRandom;
}

const SPIN_OFF_LETTERS = 'NRSTWX';

/**
 * Creates a security that trades separately from a session on. The price of its parent falls by the distributed value.
 */
export function createSpinOff({ birth, ordinal, session, price, shares, random }: Parent): {
  readonly birth: Birth;
  readonly ratio: number;
  readonly fraction: number;
} {
  const fraction = 0.08 + 0.17 * random.uniform();
  const ratio = [0.25, 0.5, 1][random.integer(3)]!;
  const identifier = birth.identifier + SPIN_OFF_LETTERS[ordinal]!;
  return {
    ratio,
    fraction,
    birth: {
      identifier,
      name: drawCompanyName(identifier, random),
      stream: birth.stream + 16 * (ordinal + 1),
      rank: null,
      sector: birth.sector,
      industry: birth.industry,
      listed: session,
      price: toTick((price * fraction) / ratio),
      shares: Math.max(Math.round(shares * ratio), 1),
    },
  };
}
