import { expect, test } from 'vitest';
import { describeChoice, openNumericEngine } from '#kernels/engines/open-engine.js';
import { testProduct } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';

test('opens the engine of the setting', async () => {
  for (const setting of ['wasm', 'reference'] as const) {
    const choice = await openNumericEngine(setting);
    expect(choice).toMatchObject({ engine: { name: setting, precision: 'float64' }, refused: [], asAsked: true });
  }
});

test('always returns an engine, with the reason if it is not the requested one', async () => {
  for (const setting of ['auto', 'native', 'tensorflow'] as const) {
    const choice = await openNumericEngine(setting);
    const isTaken = choice.refused.length === 0;
    expect(choice.exact.precision).toBe('float64');
    expect(choice.exact === choice.engine).toBe(choice.engine.precision === 'float64');
    expect(choice.asAsked).toBe(setting === 'auto' || isTaken);
    for (const { name, why } of choice.refused) expect(describeChoice(choice)).toContain(`Not ${name}: ${why}`);
    expect(describeChoice(choice)).toContain(choice.engine.description);
  }
});

test('a library that multiplies wrongly fails its self-test', () => {
  const engine = openWasmEngine();
  expect(() => testProduct(engine)).not.toThrow();
  const wrongEngine = {
    ...engine,
    symmetricRankK: (x: Float64Array, columns: number, out: Float64Array) => {
      engine.symmetricRankK(x, columns, out);
      out[5]! *= 1 + 1e-9;
    },
  };
  expect(() => testProduct(wrongEngine)).toThrow(/X'X is off by/);
});
