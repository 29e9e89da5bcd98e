import { createDaysCalendar } from '#domain/calendars/calendar.js';
import { TreatmentSpec } from '#domain/definition/index-document.js';
import { RiskModelRequest } from '#domain/risk/risk-models.js';
import { computeGrowth } from '#domain/market/growth.js';
import { createGrowthTerms } from '#domain/market/action-effects.js';
import type { MarketData } from '#domain/market/market-data.js';
import { alignMarket } from '#domain/market/session-market.js';
import { estimateRiskModel } from '#domain/risk/estimation.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createQuarterlyDividends } from '../seeded-market.js';
import { readSizes } from '../../variables.js';

/**
 * Measures a model of seven styles for 3,000 securities over ten years of daily returns, with monthly exposures. The
 * work consists of returns, datapoints, regressions, the covariance and its eigenvalues. Prints the processor time of
 * the first and the second estimate. Goal: 10 s. The command line selects numbers of securities.
 */
const SESSIONS = 2521;
const YEAR = 252;
const SECTORS = 11;
const GOAL_MS = 10_000;

const engine = openWasmEngine();
for (const names of readSizes([500, 3000])) {
  const market = createStyledMarket(names);
  const times = [measureTime(market), measureTime(market)];
  console.log(
    `styles, ${names} names x ${SESSIONS - 1} returns: first ${times[0]!.ms.toFixed(0)} ms, then ${times[1]!.ms.toFixed(0)} ms${names === 3000 ? `, goal ${GOAL_MS} ms` : ''}; ${times[1]!.factors} factors, mean R² ${times[1]!.rSquared.toFixed(3)}`,
  );
}

function measureTime(market: MarketData): { readonly ms: number; readonly factors: number; readonly rSquared: number } {
  const begin = process.cpuUsage();
  const sm = alignMarket({ market, calendar: createDaysCalendar(market.dates), calendars: openCalendars() });
  const treatment = TreatmentSpec.parse({});
  const window = {
    sm,
    growth: computeGrowth(sm, createGrowthTerms(treatment, '', 'total')),
    datapoints: createIndexCrossSections({ market: sm, treatment, currency: '' }),
    from: 0,
    to: sm.sessions.length - 1,
  };
  const request = RiskModelRequest.parse({ estimator: 'styles' });
  const columns = Int32Array.from(market.identifiers.keys());
  const { factors } = engine.scope(() => {
    const { factors: found } = estimateRiskModel(engine, window, columns, request);
    return { factors: found! }; // a style model has factors
  });
  const { user, system } = process.cpuUsage(begin);
  return {
    ms: (user + system) / 1000,
    factors: factors.model.factors.length,
    rSquared: factors.fit.rSquared,
  };
}

/** Returns a market of random walks with sectors, shares, volumes, dividends and annual accounts. */
function createStyledMarket(names: number): MarketData {
  const random = createCounterRandom({ seed: 9, stream: 3 });
  const identifiers = Array.from({ length: names }, (_, i) => `N${String(i).padStart(5, '0')}`);
  const dates = Int32Array.from({ length: SESSIONS }, (_, t) => 10_000 + t + 2 * Math.floor(t / 5));
  const size = names * SESSIONS;
  const [close, shares, volume] = [new Float64Array(size), new Float64Array(size), new Float64Array(size)];
  const beta = Float64Array.from(identifiers, () => 0.5 + random.uniform());
  const issuedShares = Float64Array.from(identifiers, () => Math.round(1e6 * Math.exp(4 * random.uniform())));
  for (let t = 0; t < SESSIONS; t++) {
    const market = 0.01 * random.normal();
    const sectors = Float64Array.from({ length: SECTORS }, () => 0.005 * random.normal());
    for (let i = 0; i < names; i++) {
      const cell = t * names + i;
      const move = 0.0003 + beta[i]! * market + sectors[i % SECTORS]! + 0.04 * (random.uniform() - 0.5);
      close[cell] = t === 0 ? 20 + 100 * random.uniform() : Math.max(1, close[cell - names]! * (1 + move));
      shares[cell] = issuedShares[i]!;
      volume[cell] = issuedShares[i]! * 0.01 * (0.5 + random.uniform());
    }
  }
  return {
    datasetId: 'bench',
    contentHash: '',
    adjustment: 'none',
    identifiers,
    dates,
    fields: new Map([
      ['CLOSE', close],
      ['SHARES_OUTSTANDING', shares],
      ['VOLUME', volume],
    ]),
    reference: {
      columns: ['SECTOR', 'BOOK_TO_PRICE', 'EARNINGS_YIELD', 'RETURN_ON_EQUITY'],
      rows: new Map(
        identifiers.map((identifier, i) => [
          identifier,
          Array.from({ length: Math.ceil(SESSIONS / YEAR) }, (_, year) => ({
            validFrom: year === 0 ? null : dates[year * YEAR]!,
            values: [`S${i % SECTORS}`, random.uniform(), 0.1 * random.normal(), 0.2 * random.normal()],
          })),
        ]),
      ),
    },
    actions: createQuarterlyDividends(identifiers, dates),
    universes: [],
  };
}
