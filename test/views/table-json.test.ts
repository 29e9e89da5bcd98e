import { fc } from '../fast-check.js';
import { expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { createJsonWriter, writeDatedTable } from '#views/json/writer.js';

test('a table is written as JSON.stringify writes it, with null where there is no number', () => {
  const cell = fc.oneof(
    { weight: 4, arbitrary: fc.double() },
    fc.constant(Number.NaN),
    fc.integer().map((value) => value / 100),
  );
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 1, max: 4 }),
      fc.infiniteStream(cell),
      fc.integer({ min: -30_000, max: 50_000 }),
      (rows, width, cells, first) => {
        const columns = Array.from({ length: width }, (_, c) => ({
          name: `"${c}é`,
          values: Float64Array.from({ length: rows }, () => cells.next().value!),
        }));
        const days = Int32Array.from({ length: rows }, (_, t) => first + t);
        const json = createJsonWriter(16);
        writeDatedTable(json, { days, columns });
        const data = Array.from(days, (_, t) =>
          columns.map(({ values }) => (Number.isFinite(values[t]) ? values[t]! : null)),
        );
        expect(new TextDecoder().decode(json.bytes())).toBe(
          JSON.stringify({ index: Array.from(days, formatDay), columns: columns.map(({ name }) => name), data }),
        );
      },
    ),
  );
});
