import { expect, test } from 'vitest';
import { measureConcentration } from '#domain/analytics/concentration.js';
import { CONCENTRATION, CONCENTRATION_WIDTH, createConcentrationMaker } from '#views/exposures.js';
import { createFigures } from '#views/dated-figures.js';

test.each([
  ['half in cash', [0.25, 0.25], { constituents: 2, effective: 8, gross: 2, positions: 2, largest: 0.25, top: 0.5 }],
  ['twice levered', [1, 1], { constituents: 2, effective: 0.5, gross: 2, positions: 2, largest: 1, top: 2 }],
  // The squares of 1.2, 0.4 and 0.6 sum to 1.96, and their magnitudes to 2.2.
  [
    'long and short',
    [1.2, 0.4, -0.6, 0],
    { constituents: 2, effective: 1 / 1.96, gross: 4.84 / 1.96, positions: 3, largest: 1.2, top: 1.6 },
  ],
  [
    'short alone',
    [-0.8, -0.2],
    { constituents: 0, effective: 1 / 0.68, gross: 1 / 0.68, positions: 2, largest: 0, top: 0 },
  ],
  ['nothing', [0, 0], { constituents: 0, effective: 0, gross: 0, positions: 0, largest: 0, top: 0 }],
])(
  'of weights %s the constituents are those above 0 and effective assets 1 over the sum of squares',
  (_, weights, by) => {
    const concentration = measureConcentration(weights);
    expect([concentration.constituents, concentration.gross_constituents]).toEqual([by.constituents, by.positions]);
    expect(concentration.effective_assets).toBeCloseTo(by.effective, 12);
    expect(concentration.gross_effective_assets).toBeCloseTo(by.gross, 12);
    expect(concentration.largest).toBe(by.largest);
    expect(concentration.gross_largest).toBe(Math.max(0, ...weights.map(Math.abs)));
    expect(concentration.top_weights['5']).toBeCloseTo(by.top, 12);
    // The exposure series has the same figures, because it computes them from the same weights.
    const figures = createFigures({ width: CONCENTRATION_WIDTH, dates: 1 });
    createConcentrationMaker(figures).make({
      at: 0,
      day: 0,
      own: Float64Array.from(weights),
      benchmark: new Float64Array(0),
    });
    const readFigure = (figure: keyof typeof CONCENTRATION) => figures.values[CONCENTRATION[figure]];
    expect(readFigure('effective')).toBe(concentration.effective_assets);
    expect(readFigure('grossEffective')).toBeCloseTo(concentration.gross_effective_assets, 14);
    expect([readFigure('largest'), readFigure('grossLargest')]).toEqual([
      concentration.largest,
      concentration.gross_largest,
    ]);
  },
);
