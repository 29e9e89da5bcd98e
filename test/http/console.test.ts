import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createApp } from '#http/app.js';
import { consoleRoutes } from '#contract/pages.js';
import { CONSOLE_POLICY, type ConsoleFile, createConsoleHandlers } from '#http/pages.js';

const createConsoleFile = (text: string, type: string): ConsoleFile => {
  const bytes = new TextEncoder().encode(text);
  return { type, etag: `hash-${text}`, bytes, coded: { br: new TextEncoder().encode(`br ${text}`) } };
};
const PAGE = createConsoleFile('page', 'text/html; charset=utf-8');
const SCRIPT = createConsoleFile('script', 'text/javascript; charset=utf-8');

/** @param isBuilt true if the console was built */
function createConsoleApp(isBuilt = true) {
  const handlers = createConsoleHandlers({
    page: () => (isBuilt ? PAGE : undefined),
    asset: (name) => (name === 'main-abc.js' ? SCRIPT : undefined),
  });
  return createApp({
    api: consoleRoutes,
    handlers,
    authenticate: () => {
      throw new Error('the console needs no key');
    },
    version: '0.0.0',
    log: pino({ level: 'silent' }),
  });
}

const ask = async (path: string, headers: Record<string, string> = {}, app = createConsoleApp()) =>
  app.fetch(new Request(`http://localhost${path}`, { headers: { host: 'localhost', ...headers } }));
const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'accept-encoding': 'gzip, br' };

test('browsers receive the page at each of its addresses, under a policy that blocks other origins', async () => {
  for (const path of ['/', '/console', '/console/indices/EQ', '/console/indices/EQ/rebalances/2024-03-15?tab=x']) {
    const response = await ask(path, BROWSER);
    expect([path, response.status, await response.text()]).toEqual([path, 200, 'br page']);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-encoding': 'br',
      'content-security-policy': CONSOLE_POLICY,
      'cache-control': 'no-cache',
      vary: 'Accept, Accept-Encoding',
    });
  }
  expect(CONSOLE_POLICY).toMatch(/^default-src 'self';/);
  expect(CONSOLE_POLICY).not.toMatch(/unsafe|https?:|\*/);
  const { status } = await ask('/', { ...BROWSER, 'if-none-match': '"hash-page-br"' });
  expect(status).toBe(304);
});

test('programs receive NOT_FOUND for an unknown route', async () => {
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
    const response = await ask('/', headers);
    expect([response.status, await response.json()]).toMatchObject([404, { error: { code: 'ROUTE_NOT_FOUND' } }]);
  }
});

test('assets are cached permanently in the requested coding, and those of another build do not exist', async () => {
  const plainAnswer = await ask('/console/assets/main-abc.js');
  expect([plainAnswer.status, await plainAnswer.text(), plainAnswer.headers.get('content-type')]).toEqual([
    200,
    'script',
    SCRIPT.type,
  ]);
  expect(plainAnswer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(await (await ask('/console/assets/main-abc.js', BROWSER)).text()).toBe('br script');
  expect((await ask('/console/assets/main-old.js', BROWSER)).status).toBe(404);
});

test('a console that was not built explains how to build it', async () => {
  const response = await ask('/', BROWSER, createConsoleApp(false));
  expect([response.status, await response.json()]).toMatchObject([404, { error: { message: /npm run build/ } }]);
});
