import { describe, expect, test } from 'vitest';
import { openblasEngine } from '#kernels/engines/openblas.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { FEWER_ORDERS, testAgreement } from './agreement.js';

const opened = await openblasEngine().catch((failure: Error) => failure);

if (opened instanceof Error) {
  console.log(`OpenBLAS is not tested here: ${opened.message}`);
  test.skip('the OpenBLAS engine agrees with the definitions', () => {});
} else {
  describe('the OpenBLAS engine agrees with the definitions', () => testAgreement(opened));

  describe('the OpenBLAS engine on the memory of the WebAssembly engine agrees with the definitions', async () =>
    testAgreement(await openblasEngine(wasmEngine()), FEWER_ORDERS));

  test('names its library, its instruction set and its one thread', () => {
    expect(opened.description).toMatch(/OpenBLAS .+, 1 thread|Accelerate/);
  });
}
