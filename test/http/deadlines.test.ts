import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSample } from './sample-app.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

test('a request is refused at its deadline, and a request that ends in time is not', async () => {
  const { send, long } = createSample({ requestSeconds: 10 });
  const late = send('GET', '/wait');
  let isAnswered = false;
  void late.then(() => (isAnswered = true));
  expect((await send('GET', '/things')).status).toBe(200);
  await vi.advanceTimersByTimeAsync(9_999);
  expect(isAnswered).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect([(await late).status, await (await late).json()]).toMatchObject([503, { error: { code: 'OVERLOADED' } }]);
  expect(vi.getTimerCount()).toBe(0);
  expect((await send('GET', '/things/none')).status).toBe(404);
  long.release();
});
