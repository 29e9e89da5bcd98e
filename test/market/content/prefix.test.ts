import { expect, test } from 'vitest';
import { digestContent } from '#market/content/content.js';
import { comparePrefixes, createPrefix } from '#market/content/prefix.js';
import type { ActionStatus, CorporateAction } from '#domain/market/market-data.js';
import { createMarket } from '../../workers/bits-market.js';

test('a prefix belongs to the requested day, whichever day was requested before', async () => {
  const storedMarket = createMarket(3, 130);
  const { digests } = await digestContent(storedMarket);
  const [early, late] = [storedMarket.dates[100]!, storedMarket.dates[129]!];
  for (const day of [early, late, early, early, late]) {
    const alone = createPrefix({ ...storedMarket }, digests, day); // a copy for which nothing has been computed yet
    expect(comparePrefixes(createPrefix(storedMarket, digests, day), alone)).toBeNull();
  }
  expect(
    comparePrefixes(
      { ...createPrefix(storedMarket, digests, early), day: late },
      createPrefix(storedMarket, digests, late),
    ),
  ).toBe('history');
});

test('an announced dividend that is paid by now changes no prefix, one that is cancelled does', async () => {
  const held = createMarket(3, 130);
  const day = held.dates[120]!;
  const createDividend = (status: ActionStatus): CorporateAction => ({
    identifier: held.identifiers[0]!,
    type: 'DIVIDEND',
    value: 0.5,
    exDay: held.dates[110]!,
    payDay: held.dates[125]!,
    status,
    announcedDay: held.dates[90]!,
    related: null,
    subscriptionPrice: null,
  });
  const hashPrefix = async (status: ActionStatus) => {
    const content = { ...held, actions: [createDividend(status)] };
    return createPrefix(content, (await digestContent(content)).digests, day);
  };
  const announced = await hashPrefix('announced');
  expect(comparePrefixes(announced, await hashPrefix('paid'))).toBeNull();
  expect(comparePrefixes(announced, await hashPrefix('cancelled'))).toBe('history');
});
