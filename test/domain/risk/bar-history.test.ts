import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { createBarHistory } from '#domain/risk/return-panel.js';
import { createWindow } from './window.js';
import { IS_SOAK } from '../../soak.js';

const SESSIONS = 14;
const NAMES = 4;
const cell = fc.constantFrom<'bar' | 'none' | 'no rate'>('bar', 'bar', 'bar', 'none', 'no rate');

test('the summary of a window equals a count of its sessions one by one', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(cell, { minLength: NAMES, maxLength: NAMES }), { minLength: SESSIONS, maxLength: SESSIONS }),
      fc.tuple(fc.nat(SESSIONS - 1), fc.nat(SESSIONS - 1)),
      fc.uniqueArray(fc.nat(NAMES - 1), { minLength: 1 }),
      (cells, [a, b], columns) => {
        const { sm, growth } = createWindow({
          returns: cells.map((row) => row.map((kind) => (kind === 'none' ? null : 0.01))),
        });
        cells.forEach((row, s) =>
          row.forEach((kind, i) => {
            if (kind === 'no rate') growth[s * NAMES + i] = Number.NaN;
          }),
        );
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        const hasBar = (s: number, i: number): boolean => cells[s]![i] !== 'none';
        const hasReturn = (s: number, i: number): boolean => hasBar(s, i) && hasBar(s - 1, i) && cells[s]![i] === 'bar';
        const window = Array.from({ length: to - from + 1 }, (_, k) => from + k);
        const after = window.slice(1);
        const history = createBarHistory(sm, growth);
        for (let i = 0; i < NAMES; i++) {
          expect(history.bars(i, from, to)).toBe(window.filter((s) => hasBar(s, i)).length);
          expect(history.returns(i, from, to)).toBe(after.filter((s) => hasReturn(s, i)).length);
        }
        expect([...history.complete(columns, from, to)]).toEqual(
          after.filter((s) => columns.every((i) => hasReturn(s, i))),
        );
      },
    ),
    { numRuns: IS_SOAK ? 500 : 150 },
  );
});

test('the history of a panel is computed once', () => {
  const { sm, growth } = createWindow({ returns: [[0], [0.1]] });
  expect(createBarHistory(sm, growth)).toBe(createBarHistory(sm, growth));
});
