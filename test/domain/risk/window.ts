import type { ReturnWindow } from '#domain/risk/return-panel.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';

export interface WindowInput {
  /**
   * Return of each security on each session, or null if it has no price. The returns of the first session are not used.
   */
  readonly returns: readonly (readonly (number | null)[])[];
  readonly sectors?: readonly string[];
}

/**
 * Creates a return window with the length of the given returns. Its market has only the members that risk models read.
 */
export function createWindow({ returns, sectors = [] }: WindowInput): ReturnWindow {
  const names = returns[0]!.length;
  const identifiers = Array.from({ length: names }, (_, i) => `N${String(i).padStart(3, '0')}`);
  const lastBar = new Int32Array(returns.length * names);
  const growth = new Float64Array(returns.length * names);
  returns.forEach((row, s) => {
    row.forEach((value, i) => {
      lastBar[s * names + i] = value === null ? (s === 0 ? -1 : lastBar[(s - 1) * names + i]!) : s;
      growth[s * names + i] = s === 0 ? Number.NaN : 1 + (value ?? 0);
    });
  });
  const sm: Pick<SessionMarket, 'securityCount' | 'identifiers' | 'first' | 'lastBar' | 'sessions'> & {
    market: { reference: SessionMarket['market']['reference'] };
  } = {
    securityCount: names,
    identifiers,
    lastBar,
    first: 0,
    sessions: Int32Array.from(returns, (_, s) => 15_000 + s + 2 * Math.floor(s / 5)), // weeks of five sessions
    market: {
      reference: {
        columns: ['SECTOR'],
        rows: new Map(sectors.map((sector, i) => [identifiers[i]!, [{ validFrom: null, values: [sector] }]])),
      },
    },
  };
  // risk models read no other members of a market
  return { sm: sm as unknown as SessionMarket, growth, from: 0, to: returns.length - 1 };
}

/** Creates random returns with a common market factor. The first session has no return of the factor. */
export function createRandomReturns(sessions: number, names: number, seed = 1): number[][] {
  const random = createCounterRandom({ seed, stream: names });
  const betas = Array.from({ length: names }, () => 0.5 + random.uniform());
  return Array.from({ length: sessions }, () => {
    const market = 0.01 * random.normal();
    return betas.map((beta) => beta * market + 0.015 * random.normal());
  });
}

/** Computes the annualised sample covariance directly from its definition. It uses the returns after the first row. */
export function computeCovarianceByDefinition(returns: readonly (readonly number[])[]): number[][] {
  const rows = returns.slice(1);
  const means = rows[0]!.map((_, i) => rows.reduce((total, row) => total + row[i]!, 0) / rows.length);
  return means.map((mi, i) =>
    means.map(
      (mj, j) => (252 * rows.reduce((total, row) => total + (row[i]! - mi) * (row[j]! - mj), 0)) / (rows.length - 1),
    ),
  );
}
