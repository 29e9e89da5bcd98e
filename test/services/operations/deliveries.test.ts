import { expect, test } from 'vitest';
import { LIMITS } from '#domain/base/limits.js';
import type { Delivery } from '#jobs/port/callbacks.js';
import {
  createCallbackDestinations,
  createDeliveries,
  type Failure,
  type SendDelivery,
} from '#services/delivery/callbacks.js';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { formatTimestamp } from '#store/port.js';
import { createTestClock } from '../../jobs/test-clock.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();
const URL_OF_TEST = 'https://hooks.test/end';
const log = { info: () => {}, warn: () => {}, error: () => {} };

/** Creates deliveries on separate documents. @param answers responses of the receiver in order; the last one repeats */
async function createWorld(answers: readonly (Failure | undefined)[], hosts = ['hooks.test']) {
  const home = await openHome(await createFolder());
  const { documents, close } = await openStore({ home, onFailure: () => {} });
  const time = createTestClock();
  const sentDeliveries: { readonly delivery: Delivery; readonly atMs: number }[] = [];
  const send: SendDelivery = async (delivery) => {
    sentDeliveries.push({ delivery, atMs: time.clock.monotonicMs() });
    return answers[Math.min(sentDeliveries.length, answers.length) - 1];
  };
  const destinations = createCallbackDestinations({ hosts, isPrivateAllowed: false, hasSecret: true });
  const open = () => createDeliveries({ documents, destinations, send, clock: time.clock, log });
  const add = (id: string) =>
    documents.transaction(async (tx) => {
      const next_attempt_at = formatTimestamp(time.clock.now());
      const delivery = { delivery_id: id, job_id: 'backtest:A', url: URL_OF_TEST, attempts: 0, next_attempt_at };
      await tx.put('delivery', id, { ...delivery, body: '{}' } satisfies Delivery);
      tx.publish({ type: 'delivery-due', delivery_id: id });
    });
  /** Advances time until a condition is true. */
  const advanceUntil = async (holds: () => boolean | Promise<boolean>) => {
    while (!(await holds())) await time.pass(1000);
  };
  return {
    documents,
    open,
    add,
    sent: sentDeliveries,
    until: advanceUntil,
    async discard() {
      await close();
      await home.close();
    },
  };
}

const busyFailure: Failure = { reason: 'The receiver answered 503.', isFinal: false };
const countStored = async ({ documents }: Awaited<ReturnType<typeof createWorld>>) =>
  (await documents.ids('delivery')).length;

test('a message is sent until its receiver accepts it, after pauses that double', async () => {
  const firstWorld = await createWorld([busyFailure, busyFailure, busyFailure, undefined]);
  const deliveries = firstWorld.open();
  await firstWorld.add('a');
  await firstWorld.until(async () => (await countStored(firstWorld)) === 0);
  const pauses = firstWorld.sent.slice(1).map(({ atMs }, i) => atMs - firstWorld.sent[i]!.atMs);
  // The pause is at least as long as requested. This clock advances in steps of a second.
  for (const [i, pauseMs] of pauses.entries()) expect(pauseMs).toBeGreaterThanOrEqual(1000 * 2 ** i);
  expect(firstWorld.sent.map(({ delivery }) => delivery.delivery_id)).toEqual(['a', 'a', 'a', 'a']);
  await deliveries.close();
  await firstWorld.discard();
});

test('a message is abandoned after the last attempt, or when the receiver rejects it finally', async () => {
  const firstWorld = await createWorld([busyFailure]);
  const deliveries = firstWorld.open();
  await firstWorld.add('a');
  await firstWorld.until(async () => (await countStored(firstWorld)) === 0);
  expect(firstWorld.sent).toHaveLength(LIMITS.MAX_CALLBACK_ATTEMPTS);
  await deliveries.close();
  await firstWorld.discard();

  const goneWorld = await createWorld([{ reason: 'The receiver answered 410.', isFinal: true }]);
  const otherDeliveries = goneWorld.open();
  await goneWorld.add('a');
  await goneWorld.until(async () => (await countStored(goneWorld)) === 0);
  expect(goneWorld.sent).toHaveLength(1);
  await otherDeliveries.close();
  await goneWorld.discard();
});

test('the next process delivers the pending messages, with the attempts so far', async () => {
  const firstWorld = await createWorld([busyFailure, undefined]);
  const first = firstWorld.open();
  await firstWorld.add('a');
  await firstWorld.until(async () => {
    const storedDelivery = await firstWorld.documents.get('delivery', 'a');
    return (
      storedDelivery !== undefined &&
      !('unreadable' in storedDelivery) &&
      (storedDelivery.body as Delivery).attempts === 1
    );
  });
  await first.close();
  expect(firstWorld.sent).toHaveLength(1);
  const second = firstWorld.open();
  await second.start();
  await firstWorld.until(async () => (await countStored(firstWorld)) === 0);
  expect(firstWorld.sent.map(({ delivery }) => delivery.attempts)).toEqual([0, 1]);
  await second.close();
  await firstWorld.discard();
});

test('nothing is sent to a host that the operator removed from the list', async () => {
  const firstWorld = await createWorld([undefined], ['other.test']);
  const deliveries = firstWorld.open();
  await firstWorld.add('a');
  await firstWorld.until(async () => (await countStored(firstWorld)) === 0);
  expect(firstWorld.sent).toEqual([]);
  await deliveries.close();
  await firstWorld.discard();
});

test.each([
  ['https://hooks.test/end', undefined],
  ['https://HOOKS.test:443/end', undefined],
  ['http://hooks.test/', undefined],
  ['https://hooks.test:8443/end', /none of those/],
  ['https://ported.test:8443/end', undefined],
  ['https://ported.test/end', /none of those/],
  ['https://hooks.test.evil.test/', /none of those/],
  ['https://hooks.test@evil.test/', /no user/],
  ['ftp://hooks.test/', /http or https/],
  ['hooks.test/end', /http or https/],
  ['http://127.0.0.1/', /private address/],
  ['http://2130706433/', /private address/],
  ['http://[::ffff:127.0.0.1]/', /private address/],
  ['http://10.1.2.3/', /private address/],
  ['http://8.8.8.8/', undefined],
  ['http://[fd00:ec2::254]/', /nothing is sent to fd00:ec2::\/32 \(cloud metadata\)/],
  ['http://[3fff::1]/', /nothing is sent to 3fff::\/20 \(documentation\)/],
  ['http://192.88.99.1/', /nothing is sent to 192\.88\.99\.0\/24/],
])('a callback at %s', (url, reason) => {
  const hosts = [
    'hooks.test',
    'ported.test:8443',
    '127.0.0.1',
    '[::ffff:7f00:1]',
    '10.1.2.3',
    '8.8.8.8',
    '[fd00:ec2::254]',
    '[3fff::1]',
    '192.88.99.1',
  ];
  const { findProblem } = createCallbackDestinations({ hosts, isPrivateAllowed: false, hasSecret: true });
  if (reason === undefined) expect(findProblem(url)).toBeUndefined();
  else expect(findProblem(url)?.reason).toMatch(reason);
});

test('private networks are reached if they are allowed, but never cloud metadata addresses', () => {
  const isAllowed = createCallbackDestinations({ hosts: [], isPrivateAllowed: true, hasSecret: true }).isAddressAllowed;
  expect(['127.0.0.1', '10.0.0.1', '192.168.1.1', 'fd00::1', '8.8.8.8'].map(isAllowed)).toEqual(Array(5).fill(true));
  expect(['169.254.169.254', 'fe80::1', '0.0.0.0', '224.0.0.1', '::'].map(isAllowed)).toEqual(Array(5).fill(false));
  // IPv4 addresses that are embedded in IPv6 addresses in five forms: compatible, mapped, translated, 6to4 and NAT64.
  const embeddedAddresses = ['::169.254.169.254', '::127.0.0.1', '::ffff:169.254.169.254', '::ffff:0:169.254.169.254'];
  expect([...embeddedAddresses, '2002:a9fe:a9fe::', '64:ff9b::a9fe:a9fe'].filter(isAllowed)).toEqual([]);
  expect(['::1', '::ffff:127.0.0.1'].filter(isAllowed)).toHaveLength(2);
  const metadata = ['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', '100.100.100.200', '168.63.129.16'];
  expect([...metadata, '192.88.99.1', '5f00::1', '2001:20::1', '3fff::1', 'not an address'].filter(isAllowed)).toEqual(
    [],
  );
  const isPublicAddress = createCallbackDestinations({
    hosts: [],
    isPrivateAllowed: false,
    hasSecret: true,
  }).isAddressAllowed;
  expect(['127.0.0.1', '::1', '::ffff:10.0.0.1', 'fd00::1'].map(isPublicAddress)).toEqual(Array(4).fill(false));
});
