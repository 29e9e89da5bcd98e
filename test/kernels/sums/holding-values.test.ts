import { expect, test } from 'vitest';
import { createValuePanel, PANEL_BYTES_MIN, SESSIONS_PER_CALL, getValuePanel } from '#kernels/engines/value-panel.js';
import { sumHoldingValue } from '#kernels/sums/sums.js';

const NAMES = 67;
const CELLS = NAMES * Math.ceil(PANEL_BYTES_MIN / 8 / NAMES);

/** Returns a panel with values of both signs and of different magnitudes. */
function createPanel(): Float64Array {
  const panel = createValuePanel(CELLS, NAMES)!; // the memory is large enough
  for (let i = 0; i < panel.length; i++) panel[i] = Math.sin(i) * 10 ** (i % 7);
  return panel;
}

const createHolding = (columns: readonly number[]) => ({
  columns: Int32Array.from([...columns, 0]),
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
    for (const [version, [columns, isRun]] of (
      [
        [run, count > 0],
        [spacedColumns, false],
      ] as const
    ).entries()) {
      const holding = createHolding(columns);
      kernel.load(holding, { isRun, owner, version });
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

test('a value is money and the value of the units', () => {
  const panel = Float64Array.of(0, 0, 0, 2, 3, 5);
  const holding = { columns: Int32Array.of(0, 2), units: Float64Array.of(10, 100), count: 2, money: 1 };
  expect(sumHoldingValue(panel, 3, holding)).toBe(521);
});

test('a panel states which holding it has, and one of another size has no kernel', () => {
  const kernel = getValuePanel(createPanel())!;
  const [owner, other] = [{}, {}];
  expect(kernel.has(owner, 1)).toBe(false);
  kernel.load(createHolding([1, 2]), { isRun: true, owner, version: 1 });
  expect([kernel.has(owner, 1), kernel.has(owner, 2), kernel.has(other, 1)]).toEqual([true, false, false]);
  expect(createValuePanel(10, 5)).toBeUndefined();
  expect(getValuePanel(new Float64Array(10))).toBeUndefined();
});
