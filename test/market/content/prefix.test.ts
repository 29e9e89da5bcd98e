import { expect, test } from 'vitest';
import { digestContent } from '#market/content/content.js';
import { prefixDiffers, prefixOf } from '#market/content/prefix.js';
import { market } from '../../workers/bits-market.js';

test('a prefix belongs to the day that was asked for, whichever day was asked for before', async () => {
  const held = market(3, 130);
  const { digests } = await digestContent(held);
  const [early, late] = [held.dates[100]!, held.dates[129]!];
  for (const day of [early, late, early, early, late]) {
    const alone = prefixOf({ ...held }, digests, day); // nobody asked this one before
    expect(prefixDiffers(prefixOf(held, digests, day), alone)).toBeNull();
  }
  expect(prefixDiffers({ ...prefixOf(held, digests, early), day: late }, prefixOf(held, digests, late))).toBe(
    'history',
  );
});
