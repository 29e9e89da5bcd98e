import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { RiskModelRequest, RiskValidationRequest } from '#domain/risk/risk-models.js';
import { Refusal } from '#domain/base/refusals.js';
import { validateRiskModel, type ValidationInput } from '#domain/risk/validation.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { createRandomReturns, createWindow } from '../window.js';

interface GoldenValidation {
  readonly returns: number[][];
  readonly sessions: number;
  readonly horizon: number;
  readonly portfolios: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const file = new URL('../../../../../test/golden/risk-validation/risk-validation.json', import.meta.url);
const golden = JSON.parse(readFileSync(file, 'utf8')) as GoldenValidation; // the file has the format of this type

interface Trial extends Partial<Pick<ValidationInput, 'heldOn'>> {
  readonly terms?: Partial<RiskValidationRequest>;
  readonly settings?: Partial<RiskModelRequest>;
}

function validateModel(
  returns: readonly (readonly (number | null)[])[],
  { terms, settings, heldOn = null }: Trial = {},
) {
  const window = createWindow({ returns });
  return validateRiskModel(openWasmEngine(), {
    window,
    asked: Array.from({ length: returns[0]!.length }, (_, column) => column),
    settings: RiskModelRequest.parse({ intensity: 0, ...settings }),
    terms: RiskValidationRequest.parse({ sessions: 40, horizon: 5, random: 3, eigenportfolios: 3, ...terms }),
    heldOn,
    report: () => {},
  });
}

test('forecasts of a sample covariance have the statistics that numpy computes', () => {
  const { returns, sessions, horizon, portfolios: expected } = golden;
  const { portfolios, days } = validateModel(returns, { terms: { sessions, horizon, random: 0 } });
  expect(days).toHaveLength(24);
  expect(portfolios.map(({ family, number }) => `${family} ${number}`)).toEqual(Object.keys(expected));
  for (const portfolio of portfolios) {
    const expectedValues = expected[`${portfolio.family} ${portfolio.number}`]!;
    const shownValues: Record<string, number | null> = {
      observations: portfolio.observations,
      bias: portfolio.bias,
      rolling_deviation: portfolio.rollingDeviation,
      q_statistic: portfolio.qStatistic,
      qlike: portfolio.qlike,
      forecast_volatility: portfolio.forecastVolatility,
      realised_volatility: portfolio.realisedVolatility,
    };
    for (const [name, value] of Object.entries(expectedValues)) expect(shownValues[name], name).toBeCloseTo(value, 10);
  }
});

describe('forecasts', () => {
  const returns = createRandomReturns(120, 25, 3);
  const computeForecasts = (rows: readonly (readonly number[])[]) =>
    validateModel(rows).days.map(({ day, tried }) => ({ day, forecasts: tried.map(({ forecast }) => forecast) }));

  test('of a day do not change with later data', () => {
    const cut = 80;
    const changedReturns = returns.map((row, s) => (s > cut ? row.map((value) => -3 * value) : row));
    const selectBefore = <T extends { readonly day: number }>(days: readonly T[]) =>
      days.filter(({ day }) => day <= 15_000 + cut + 2 * (cut / 5));
    const earlierForecasts = selectBefore(computeForecasts(returns));
    expect(earlierForecasts).toHaveLength(9);
    expect(selectBefore(computeForecasts(changedReturns))).toEqual(earlierForecasts);
    expect(computeForecasts(changedReturns)).not.toEqual(computeForecasts(returns));
  });

  test('scale with returns, so that standardised outcomes are unchanged', () => {
    const smallValidation = validateModel(returns);
    // Returns compound over a horizon of several sessions. Over one session they scale exactly.
    const [one, twice] = [returns, returns.map((row) => row.map((value) => 2 * value))].map((rows) =>
      validateModel(rows, { terms: { horizon: 1 } }),
    );
    twice!.portfolios.forEach(({ bias, forecastVolatility }, k) => {
      expect(bias).toBeCloseTo(one!.portfolios[k]!.bias, 10);
      expect(forecastVolatility).toBeCloseTo(2 * one!.portfolios[k]!.forecastVolatility, 10);
    });
    expect(smallValidation.portfolios).toHaveLength(1 + 3 + 3 + 3);
  });
});

describe('portfolios', () => {
  const returns = createRandomReturns(70, 25, 4);

  test('of an equal-weighted index have the outcomes of the equal-weighted portfolio', () => {
    const heldWeights = new Map(Array.from({ length: 25 }, (_, column) => [column, 0.5]));
    const { portfolios } = validateModel(returns, {
      heldOn: () => heldWeights,
      terms: { random: 0, eigenportfolios: 0 },
    });
    const [equal, index] = portfolios;
    expect(index).toEqual({ ...equal, family: 'index' });
  });

  test('at random are equal for equal seeds, and different for different seeds', () => {
    const listBiases = (seed: number) =>
      validateModel(returns, { terms: { seed } }).portfolios.flatMap(({ family, bias }) =>
        family === 'random' ? bias : [],
      );
    expect(listBiases(1)).toEqual(listBiases(1));
    expect(listBiases(2)).not.toEqual(listBiases(1));
  });
});

test('a day without enough earlier returns is skipped, and a window with fewer than two days is refused', () => {
  // No security has a price on most of the first fifty sessions.
  const lateReturns = createRandomReturns(120, 4, 5).map((row, s) =>
    s % 5 !== 0 && s < 50 ? row.map(() => null) : row,
  );
  const { days, skipped } = validateModel(lateReturns);
  expect(skipped).toBeGreaterThan(0);
  expect(days.length + skipped).toBe(Math.floor((119 - 40) / 5));
  const validateTooShort = () => validateModel(createRandomReturns(46, 4));
  expect(validateTooShort).toThrow(Refusal);
  expect(validateTooShort).toThrow('1 forecasts');
});
