import { expect, test } from 'vitest';
import { AMBER, AMBER_TINT, INK, MUTED_INK, NAVY, NAVY_TINT, SLATE } from '#views/report/page.js';

/**
 * Returns the CIELAB lightness of a colour, from 0 for black to 100 for white. In print, it is the grey of the colour.
 */
function computeLightness(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((offset) => {
    const value = Number.parseInt(colour.slice(offset, offset + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return luminance > 0.008856 ? 116 * Math.cbrt(luminance) - 16 : 903.3 * luminance;
}

const WHITE = '#ffffff';

test.each([
  ['rises and falls as bars', NAVY, AMBER, 30],
  ['a level and its benchmark', NAVY, SLATE, 20],
  ['a level and its index', NAVY, AMBER, 30],
  ['months that rose and fell by much', NAVY_TINT, AMBER_TINT, 7],
  ['a tinted month and the paper', NAVY_TINT, WHITE, 7],
  ['small text and the paper', MUTED_INK, WHITE, 50],
  ['figures and the darkest tint', INK, AMBER_TINT, 50],
])('%s differ in grey', (_, one, other, contrastMin) => {
  expect(Math.abs(computeLightness(one) - computeLightness(other))).toBeGreaterThan(contrastMin);
});
