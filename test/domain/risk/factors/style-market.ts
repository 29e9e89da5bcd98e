import { readFileSync } from 'node:fs';
import { TreatmentSpec } from '#domain/definition/index-document.js';
import { createGrowthTerms } from '#domain/market/action-effects.js';
import { computeGrowth } from '#domain/market/growth.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { ReturnWindow } from '#domain/risk/return-panel.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import { alignDays, createTableMarket } from '../../rules/rule-market.js';

interface GoldenFigures {
  readonly volatilities: number[];
  readonly t_statistics: number[];
  readonly significant: number[];
  readonly r_squared: number;
  readonly covariance: number[][];
  readonly attribution: { readonly contributions: number[]; readonly specific: number };
}

const file = new URL('../../../../../test/golden/factor-models/factor-models.json', import.meta.url);
export const golden = JSON.parse(readFileSync(file, 'utf8')) as GoldenFigures; // the file has the format of this type

export const [T, N, FROM] = [420, 14, 300];
export const names = Array.from({ length: N }, (_, i) => i);

/** Returns the market by the formulas of the golden file. `change` alters the values after a session. */
export function createStyleMarket(change: { readonly after: number } | null = null): MarketData {
  const levels = names.map(() => 50);
  const close = Array.from({ length: T }, (_, t) =>
    names.map((i) => {
      const growth = 0.012 * Math.sin(12.9898 * t + 78.233 * i + 0.37 * t * i) + 0.004 * Math.sin(0.9 * t);
      const sign = change !== null && t > change.after ? -2 : 1;
      return (levels[i]! *= t === 0 ? 1 : 1 + sign * growth);
    }),
  );
  return createTableMarket({
    identifiers: names.map((i) => `N${String(i).padStart(2, '0')}`),
    fields: {
      CLOSE: close,
      VOLUME: close.map((_, t) => names.map((i) => 1e4 * (2 + Math.sin(5.1 * i + 0.3 * t)))),
      SHARES_OUTSTANDING: close.map(() => names.map((i) => 1e6 * (1 + 3 * Math.sin(i) ** 2))),
    },
    reference: {
      SECTOR: names.map((i) => `Sector ${i % 3}`),
      RETURN_ON_EQUITY: names.map((i) => Math.cos(3 * i) / 5),
      BOOK_TO_PRICE: names.map((i) => (i === 4 ? null : 1 + Math.sin(2 * i) / 2)),
    },
  });
}

export function createStyleWindow(
  market: MarketData,
  [from, to]: readonly [number, number] = [FROM, T - 1],
): Required<ReturnWindow> {
  const sm = alignDays(market);
  const treatment = TreatmentSpec.parse({});
  const first = sm.sessions.indexOf(market.dates[0]!);
  return {
    sm,
    growth: computeGrowth(sm, createGrowthTerms(treatment, 'USD', 'total')),
    datapoints: createIndexCrossSections({ market: sm, treatment, currency: 'USD' }),
    from: first + from,
    to: first + to,
  };
}
