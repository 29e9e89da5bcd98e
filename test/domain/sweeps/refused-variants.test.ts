import { expect, test } from 'vitest';
import type { Finding } from '#domain/base/findings.js';
import { Refusal } from '#domain/base/refusals.js';
import { createRefusedVariants, formatVariantName } from '#domain/studies/variant-checks.js';

const createFinding = (path: string, message: string): Finding => ({
  severity: 'error',
  code: 'OUT_OF_RANGE',
  path,
  message,
});
const factors = [0, 2, 20].flatMap((factor) =>
  [360, 366].map((basis) => ({ '/document/overlay/factor': factor, '/document/overlay/basis': basis })),
);

const GRID = { '/document/overlay/factor': [0, 2, 20], '/document/overlay/basis': [360, 366] };

function catchRefusal(refusedVariants: ReturnType<typeof createRefusedVariants>): Refusal {
  try {
    refusedVariants.assertNone();
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown;
    throw thrown;
  }
  throw new Error('nothing was refused');
}

test('every refused variant is reported, and a value shared by several once with their positions', () => {
  const refusal = createRefusedVariants({ grid: GRID, patches: null });
  refusal.assertNone();
  factors.forEach((patch, variant) => {
    const factor = patch['/document/overlay/factor'];
    if (factor === 20)
      refusal.add(variant, [createFinding('/document.overlay.factor', 'It is 20; at most 10 is accepted.')]);
    if (patch['/document/overlay/basis'] === 366)
      refusal.add(variant, [createFinding('/document.overlay.basis', 'It is 366; the accepted set is 360, 365.')]);
  });
  const { code, message, detail } = catchRefusal(refusal);
  expect([code, message]).toEqual([
    'VALIDATION_FAILED',
    '5 errors in the sweep: variants 1, 3, 4 and 5 of 6 are refused.',
  ]);
  expect(detail).toMatchObject({
    variants: [1, 3, 4, 5],
    findings: [
      {
        path: 'grid[1]/document.overlay.basis',
        message:
          'Variant 1 (/document/overlay/factor 0, /document/overlay/basis 366) and 2 more: It is 366; the accepted set is 360, 365.',
        count: 3,
        places: ['grid[1]', 'grid[3]', 'grid[5]'],
      },
      { path: 'grid[4]/document.overlay.factor', count: 2, places: ['grid[4]', 'grid[5]'] },
    ],
  });
});

test('a refusal by one value alone has no positions, and long values are truncated in the name', () => {
  const patches = [{}, { '/document/name': 'x'.repeat(100) }];
  const refusal = createRefusedVariants({ grid: null, patches });
  refusal.add(0, [createFinding('/request.start', 'The start is after the end.')]);
  const { message, detail } = catchRefusal(refusal);
  expect(message).toBe('1 error in the sweep: variant 0 of 2 is refused.');
  expect(detail?.['findings']).toEqual([
    { ...createFinding('patches[0]/request.start', 'Variant 0 (the base): The start is after the end.') },
  ]);
  expect(formatVariantName(patches[1]!)).toHaveLength('/document/name '.length + 60);
});

test('of thousands of refused variants all numbers are reported, with up to a hundred different findings', () => {
  const patches = Array.from({ length: 2000 }, (_, k) => ({ '/document/base_value': -k }));
  const refusal = createRefusedVariants({ grid: null, patches });
  patches.forEach((_, k) => refusal.add(k, [createFinding('/document.base_value', `It is -${k}.`)]));
  const { message, detail } = catchRefusal(refusal);
  expect(message).toBe(
    '2000 errors in the sweep: variants 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 1990 more of 2000 are refused.',
  );
  expect(detail?.['variants']).toHaveLength(2000);
  const findings = detail?.['findings'] as Finding[];
  expect(findings).toHaveLength(100);
  expect(detail?.['more']).toBe(1900);
});
