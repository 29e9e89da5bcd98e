import { expect, test } from 'vitest';
import { comparePrefixes, createPrefix, digestContent } from '#market/content/content-hash.js';
import type { ActionStatus, CorporateAction } from '#domain/market/market-data.js';
import { createMarket } from '../../workers/bits-market.js';

test('a prefix belongs to the requested day, whichever day was requested before', async () => {
  const storedMarket = createMarket(3, 130);
  const { digests } = await digestContent(storedMarket);
  const [earlyDay, lateDay] = [storedMarket.dates[100]!, storedMarket.dates[129]!];
  for (const day of [earlyDay, lateDay, earlyDay, earlyDay, lateDay]) {
    const ownPrefix = createPrefix({ ...storedMarket }, digests, day); // a copy for which nothing has been computed yet
    expect(comparePrefixes(createPrefix(storedMarket, digests, day), ownPrefix)).toBeNull();
  }
  expect(
    comparePrefixes(
      { ...createPrefix(storedMarket, digests, earlyDay), day: lateDay },
      createPrefix(storedMarket, digests, lateDay),
    ),
  ).toBe('history');
});

test('an announced dividend that is paid by now changes no prefix, one that is cancelled does', async () => {
  const heldMarket = createMarket(3, 130);
  const day = heldMarket.dates[120]!;
  const createDividend = (status: ActionStatus): CorporateAction => ({
    identifier: heldMarket.identifiers[0]!,
    type: 'DIVIDEND',
    value: 0.5,
    exDay: heldMarket.dates[110]!,
    payDay: heldMarket.dates[125]!,
    status,
    announcedDay: heldMarket.dates[90]!,
    related: null,
    subscriptionPrice: null,
  });
  const hashPrefix = async (status: ActionStatus) => {
    const content = { ...heldMarket, actions: [createDividend(status)] };
    return createPrefix(content, (await digestContent(content)).digests, day);
  };
  const announcedHash = await hashPrefix('announced');
  expect(comparePrefixes(announcedHash, await hashPrefix('paid'))).toBeNull();
  expect(comparePrefixes(announcedHash, await hashPrefix('cancelled'))).toBe('history');
});
