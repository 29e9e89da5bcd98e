import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createDaysCalendar } from '#domain/calendars/calendar.js';
import { parseValidDay } from '#domain/base/time.js';
import { RiskModelRequest } from '#domain/risk/risk-models.js';
import { compareText } from '#domain/base/findings.js';
import { computeGrowth } from '#domain/market/growth.js';
import { createSecurityTerms } from '#domain/market/action-effects.js';
import { narrowMarket } from '#domain/market/market-data.js';
import { alignMarket } from '#domain/market/session-market.js';
import { estimateRiskModel } from '#domain/risk/estimation.js';
import { openNumericEngine } from '#kernels/engines/open-engine.js';
import { readGolden } from '../kernels/golden.js';
import { expectClose } from '../kernels/closeness.js';
import { NO_TABLES } from '../domain/backtest/market-builder.js';

interface Panel {
  readonly names: string[];
  readonly observations: number;
  readonly eigenvalues: number[];
  readonly volatilities: number[];
  readonly constant_correlation_intensity: number;
  readonly sklearn_identity_intensity_ddof0: number;
  readonly first_row: number[];
}

const DATA = new URL('../../../../shared/data/', import.meta.url);
const FILES = { 'us-large-20': 'us-large-20/sp500_dataset.csv.gz', 'ragged-20': 'ragged-20/stock_prices.csv' } as const;
const isHere = existsSync(DATA);
if (!isHere) console.log(`skipped: risk models of real panels, as ${DATA.pathname} is not on this machine`);

describe.skipIf(!isHere).each(Object.keys(FILES) as (keyof typeof FILES)[])('a risk model of %s', (name) => {
  const expected = readGolden<Record<string, Panel>>('real-panels')[name]!;

  async function estimate(request: Partial<RiskModelRequest>, setting: 'wasm' | 'reference' | 'native' = 'wasm') {
    const { engine } = await openNumericEngine(setting);
    const window = readWindow(FILES[name]);
    const { coverage, diagnostics, covariance } = estimateRiskModel(
      engine,
      window,
      window.sm.identifiers.map((_, column) => column),
      RiskModelRequest.parse(request),
    );
    return {
      names: Array.from(coverage.columns, (column) => window.sm.identifiers[column]!),
      observations: coverage.sessions.length,
      diagnostics,
      matrix: covariance.slice(),
    };
  }

  test.each(['wasm', 'reference', 'native'] as const)(
    'covers the names and has the moments that numpy has, on %s',
    async (setting) => {
      const { names, observations, diagnostics, matrix } = await estimate({ intensity: 0 }, setting);
      expect(names).toEqual(expected.names);
      expect(observations).toBe(expected.observations);
      const n = names.length;
      expectClose(
        names.map((_, i) => Math.sqrt(matrix[i * (n + 1)]!)),
        expected.volatilities,
        1e-12,
      );
      names.forEach((_, j) =>
        expect(
          Math.abs(matrix[j]! - expected.first_row[j]!) / (expected.volatilities[0]! * expected.volatilities[j]!),
        ).toBeLessThanOrEqual(1e-12),
      );
      const largest = expected.eigenvalues.at(-1)!;
      expect(Math.abs(diagnostics.smallestEigenvalue - expected.eigenvalues[0]!)).toBeLessThanOrEqual(1e-12 * largest);
      expect(diagnostics.conditionNumber / (largest / expected.eigenvalues[0]!)).toBeCloseTo(1, 9);
    },
  );

  test('has the published intensity towards constant correlation', async () => {
    const { diagnostics } = await estimate({ intensity_method: 'ledoit_wolf' });
    expect(diagnostics.intensity).toBeCloseTo(expected.constant_correlation_intensity, 11);
  });

  test("has scikit-learn's intensity towards the identity, but for the degrees of freedom", async () => {
    const { diagnostics } = await estimate({ intensity_method: 'ledoit_wolf', target: 'scaled_identity' });
    // Both intensities are 1/n times a ratio. The divisor hardly changes this ratio.
    expect(Math.abs(diagnostics.intensity! / expected.sklearn_identity_intensity_ddof0 - 1)).toBeLessThan(
      3 / expected.observations,
    );
  });
});

/** Returns all securities of a price file. It keeps the days on which at least one of them has a price. */
function readWindow(file: string) {
  const bytes = readFileSync(new URL(file, DATA));
  const [head, ...lines] = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8').trim().split(/\r?\n/);
  const header = head!.split(',').slice(1);
  const identifiers = header.toSorted(compareText);
  const rows = lines.map((line) => line.split(','));
  const close = Float64Array.from(
    rows.flatMap((row) =>
      identifiers.map((identifier) => {
        const cell = row[1 + header.indexOf(identifier)];
        return cell === undefined || cell === '' ? Number.NaN : Number(cell);
      }),
    ),
  );
  const market = narrowMarket(
    {
      datasetId: 'real',
      contentHash: '',
      adjustment: 'total',
      identifiers,
      dates: Int32Array.from(rows, (row) => parseValidDay(row[0]!)),
      fields: new Map([['CLOSE', close]]),
      ...NO_TABLES,
    },
    { columns: identifiers.map((_, column) => column), from: null, to: null },
  );
  const sm = alignMarket({
    market,
    calendar: createDaysCalendar(market.dates),
    calendars: { list: () => [], get: () => undefined },
  });
  const growth = computeGrowth(sm, createSecurityTerms('total', ''));
  return { sm, growth, from: 0, to: sm.sessions.length - 1 };
}
