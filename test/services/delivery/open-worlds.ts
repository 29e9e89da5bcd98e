import { createHash } from 'node:crypto';
import { afterEach } from 'vitest';
import { openDeliveryWorld, type DeliveryWorld, type WorldOptions } from './delivery-world.js';

/** Opens worlds for the tests of a file. Each world is closed after its test. */
export function openWorlds() {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });
  return {
    /** actions after the test, run in reverse order */
    closing,
    async open(options: WorldOptions = {}): Promise<DeliveryWorld> {
      const world = await openDeliveryWorld(options);
      closing.push(() => world.close());
      return world;
    },
  };
}

export const listLogLines = async (world: DeliveryWorld) =>
  (await world.record()).log.map(({ path, message }) => `${path ?? '*'}: ${message}`);

export const computeHash = (text: string) => createHash('sha256').update(text).digest('hex');
