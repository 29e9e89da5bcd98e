import { expect, test } from 'vitest';
import { createValuePanel, PANEL_BYTES_MIN, SESSIONS_PER_CALL, getValuePanel } from '#kernels/engines/value-panel.js';
import { sumHoldingValue, writeHoldingWeights } from '#kernels/sums/sums.js';

const NAMES = 67;
const CELLS = NAMES * Math.ceil(PANEL_BYTES_MIN / 8 / NAMES);

/** Returns a panel with values of both signs and of different magnitudes. */
function createPanel(): Float64Array {
  const panel = createValuePanel(CELLS, NAMES)!; // the memory is large enough
  for (let i = 0; i < panel.length; i++) panel[i] = Math.sin(i) * 10 ** (i % 7);
  return panel;
}

/** Returns a holding of securities of a book that can hold every `step`-th security. */
const createHolding = (columns: readonly number[], step = 1) => ({
  columns: Int32Array.from([...columns, 0]),
  slots: Int32Array.from([...columns, 0], (column) => column / step),
  units: Float64Array.from([...columns, 0], (column) => Math.cos(column) / 3),
  count: columns.length,
  money: 0.1,
});

test('a holding is worth the same, bit for bit, by the kernel over the panel and by its definition', () => {
  const panel = createPanel();
  const kernel = getValuePanel(panel)!;
  const values = new Float64Array(SESSIONS_PER_CALL);
  const owner = {};
  for (let count = 0; count <= NAMES; count++) {
    const from = (NAMES - count) >> 1;
    const run = Array.from({ length: count }, (_, k) => from + k);
    const spacedColumns = run.map((_, k) => Math.floor((k * NAMES) / count));
    for (const [version, columns] of [run, spacedColumns].entries()) {
      const holding = createHolding(columns);
      kernel.load(holding, { width: NAMES, owner, version });
      for (let sessions = 1; sessions <= SESSIONS_PER_CALL; sessions++) {
        kernel.values(3 * NAMES, sessions, values);
        const expected = Array.from({ length: sessions }, (_, s) => sumHoldingValue(panel, (3 + s) * NAMES, holding));
        expect([...values.subarray(0, sessions)]).toEqual(expected);
      }
      if (count === 0) continue;
      holding.units[count - 1] = 7;
      kernel.setUnits(count - 1, 7);
      kernel.values(0, 1, values);
      expect(values[0]).toBe(sumHoldingValue(panel, 0, holding));
    }
  }
});

test('a row of weights is the same, bit for bit, by the kernel over the panel and by its definition', () => {
  const panel = createPanel();
  const kernel = getValuePanel(panel)!;
  const owner = {};
  let version = 0;
  const expectEqualRows = (columns: readonly number[], step: number): void => {
    const width = Math.ceil(NAMES / step);
    const holding = createHolding(columns, step);
    kernel.load(holding, { width, owner, version: version++ });
    const [row, expected] = [new Float64Array(3 * width).fill(7), new Float64Array(3 * width).fill(7)];
    expected.fill(0, width, 2 * width);
    kernel.weights(5 * NAMES, { value: 3, weights: row, to: width });
    writeHoldingWeights(panel, 5 * NAMES, holding, { value: 3, weights: expected, to: width });
    expect(row).toEqual(expected);
  };
  for (let count = 0; count <= NAMES; count++) {
    const from = (NAMES - count) >> 1;
    expectEqualRows(
      Array.from({ length: count }, (_, k) => from + k),
      1,
    );
    expectEqualRows(
      Array.from({ length: count }, (_, k) => Math.floor((k * NAMES) / count)),
      1,
    );
    if (2 * count < NAMES)
      expectEqualRows(
        Array.from({ length: count }, (_, k) => 2 * k),
        2,
      );
  }
});

test('a value is money and the value of the units, and a weight is the value of its units in it', () => {
  const panel = Float64Array.of(0, 0, 0, 2, 3, 5);
  const [columns, slots] = [Int32Array.of(0, 2), Int32Array.of(1, 2)];
  const holding = { columns, slots, units: Float64Array.of(10, 100), count: 2, money: 480 };
  const weights = Float64Array.of(7, 7, 7);
  expect(sumHoldingValue(panel, 3, holding)).toBe(1000);
  writeHoldingWeights(panel, 3, holding, { value: 1000, weights, to: 0 });
  expect(weights).toEqual(Float64Array.of(7, 0.02, 0.5));
});

test('a panel states which holding it has, and one of another size has no kernel', () => {
  const kernel = getValuePanel(createPanel())!;
  const [owner, other] = [{}, {}];
  expect(kernel.has(owner, 1)).toBe(false);
  kernel.load(createHolding([1, 2]), { width: NAMES, owner, version: 1 });
  expect([kernel.has(owner, 1), kernel.has(owner, 2), kernel.has(other, 1)]).toEqual([true, false, false]);
  expect(createValuePanel(10, 5)).toBeUndefined();
  expect(getValuePanel(new Float64Array(10))).toBeUndefined();
});
