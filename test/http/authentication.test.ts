import { describe, expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { isLoopbackName } from '#base/addresses.js';
import { createAuthenticate } from '#http/app.js';

const KEY = 'dvs_abcdefghijkl_secret';
const principal = { keyId: 'abcdefghijkl', name: 'reader', scopes: new Set(['read'] as const) };
const authenticateWithKeys = createAuthenticate({
  areConfigured: () => true,
  verify: (key) => (key === KEY ? principal : undefined),
});
const authenticateWithoutKeys = createAuthenticate({ areConfigured: () => false, verify: () => undefined });

const createCall = (headers: Record<string, string>, method = 'GET') => ({
  request: { method, headers: new Headers(headers), url: 'http://localhost/indices' },
  address: () => '127.0.0.1',
});

async function catchCode(
  authenticate: typeof authenticateWithKeys,
  headers: Record<string, string>,
  method?: string,
): Promise<string> {
  try {
    await authenticate(createCall(headers, method));
    return 'accepted';
  } catch (failure) {
    return failure instanceof Refusal ? failure.code : 'defect';
  }
}

describe('a service with keys', () => {
  test.each([
    { authorization: `Bearer ${KEY}` },
    { authorization: `bearer   ${KEY} ` },
    { 'x-api-key': KEY },
    { authorization: `Bearer ${KEY}`, 'x-api-key': KEY },
    { 'x-api-key': KEY, host: 'index.example.com', origin: 'https://example.com' },
  ])('accepts %j', async (headers) => {
    expect(await authenticateWithKeys(createCall(headers))).toBe(principal);
  });

  test.each([
    {},
    { authorization: `Basic ${KEY}` },
    { authorization: 'Bearer' },
    { authorization: `Bearer ${KEY} more` },
    { 'x-api-key': `${KEY}x` },
    { authorization: `Bearer ${KEY}`, 'x-api-key': 'other' },
    { authorization: 'Bearer other', 'x-api-key': KEY },
    { authorization: 'Basic x', 'x-api-key': KEY },
  ])('answers %j with 401', async (headers) => {
    expect(await catchCode(authenticateWithKeys, headers)).toBe('UNAUTHENTICATED');
  });
});

describe('a service without keys', () => {
  test.each([
    {},
    { host: 'localhost:8080' },
    { host: '127.0.0.1' },
    { host: '[::1]:8080', origin: 'http://[::1]:3000' },
    { host: '127.8.8.8', origin: 'http://localhost' },
  ])('permits everything for %j', async (headers) => {
    expect([...(await authenticateWithoutKeys(createCall(headers))).scopes]).toContain('admin');
  });

  test.each([
    { host: 'rebound.example.com' },
    { host: '127.0.0.1.example.com' },
    { host: 'localhost.example.com:8080' },
    { host: '10.0.0.1' },
    { host: 'localhost', origin: 'https://example.com' },
    { host: 'localhost', origin: 'null' },
    { host: 'localhost', origin: 'http://localhost.example.com' },
  ])('refuses %j', async (headers) => {
    expect(await catchCode(authenticateWithoutKeys, headers)).toBe('FORBIDDEN_ORIGIN');
  });

  test.each([
    { forwarded: 'for=10.0.0.1' },
    { 'x-forwarded-for': '10.0.0.1' },
    { 'x-forwarded-host': 'localhost' },
    { 'x-forwarded-anything': '' },
    { 'x-real-ip': '10.0.0.1' },
    { via: '1.1 proxy' },
    { 'sec-fetch-site': 'cross-site' },
  ])('refuses what a proxy forwards or another site begins: %j', async (headers) => {
    expect(await catchCode(authenticateWithoutKeys, { host: 'localhost:8080', ...headers })).toBe('FORBIDDEN_ORIGIN');
  });

  const ownHeaders = { host: 'localhost:8080' };
  test.each([
    [ownHeaders, 'accepted'],
    [{ ...ownHeaders, origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' }, 'accepted'],
    [{ ...ownHeaders, origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' }, 'FORBIDDEN_ORIGIN'],
    [{ ...ownHeaders, origin: 'http://127.0.0.1:8080' }, 'FORBIDDEN_ORIGIN'],
    [{ ...ownHeaders, origin: 'https://localhost:8080', 'sec-fetch-site': 'same-site' }, 'FORBIDDEN_ORIGIN'],
    [{ ...ownHeaders, origin: 'https://localhost:8080' }, 'FORBIDDEN_ORIGIN'],
    [{ ...ownHeaders, origin: 'ws://localhost:8080' }, 'FORBIDDEN_ORIGIN'],
    [{ host: 'localhost:443', origin: 'https://localhost' }, 'FORBIDDEN_ORIGIN'],
    [{ host: 'localhost:443', origin: 'http://localhost' }, 'FORBIDDEN_ORIGIN'],
    [{ host: 'localhost', origin: 'http://localhost:80' }, 'accepted'],
    [{ origin: 'http://localhost' }, 'FORBIDDEN_ORIGIN'],
    [{ ...ownHeaders, 'sec-fetch-site': 'same-origin' }, 'FORBIDDEN_ORIGIN'],
    [{ ...ownHeaders, 'sec-fetch-site': 'none' }, 'FORBIDDEN_ORIGIN'],
  ])('accepts writes only from its pages and from programs: %j is %s', async (headers, expected) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect([method, await catchCode(authenticateWithoutKeys, headers as Record<string, string>, method)]).toEqual([
        method,
        expected,
      ]);
  });

  test('a page is one of the service only with the scheme of the service', async () => {
    const authenticateOverTls = createAuthenticate(
      { areConfigured: () => false, verify: () => undefined },
      undefined,
      'https',
    );
    const write = (origin: string) => catchCode(authenticateOverTls, { host: 'localhost:8443', origin }, 'POST');
    expect(await write('https://localhost:8443')).toBe('accepted');
    expect(await write('http://localhost:8443')).toBe('FORBIDDEN_ORIGIN');
  });

  test('reads from another page of this machine are accepted', async () => {
    expect(
      await catchCode(authenticateWithoutKeys, {
        ...ownHeaders,
        origin: 'http://localhost:3000',
        'sec-fetch-site': 'same-site',
      }),
    ).toBe('accepted');
  });
});

test('only names that always mean this machine count as loopback', () => {
  expect(['localhost', 'LOCALHOST', '127.0.0.1', '127.255.0.9', '::1', '[::1]'].every(isLoopbackName)).toBe(true);
  expect(['0.0.0.0', '::', '192.168.0.1', 'localhost.evil', '1127.0.0.1', ''].some(isLoopbackName)).toBe(false);
});
