import { describe, expect, test } from 'vitest';
import { Refusal } from '#domain/refusals/refusal.js';
import { createAuthenticate, isLoopbackName } from '#http/authentication.js';

const KEY = 'dvs_abcdefghijkl_secret';
const principal = { keyId: 'abcdefghijkl', name: 'reader', scopes: new Set(['read'] as const) };
const withKeys = createAuthenticate({
  areConfigured: () => true,
  verify: (key) => (key === KEY ? principal : undefined),
});
const withoutKeys = createAuthenticate({ areConfigured: () => false, verify: () => undefined });

function codeOf(authenticate: typeof withKeys, headers: Record<string, string>): string {
  try {
    authenticate(new Headers(headers));
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
  ])('accepts %j', (headers) => {
    expect(withKeys(new Headers(headers))).toBe(principal);
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
  ])('answers %j with 401', (headers) => {
    expect(codeOf(withKeys, headers)).toBe('UNAUTHENTICATED');
  });
});

describe('a service without keys', () => {
  test.each([
    {},
    { host: 'localhost:8080' },
    { host: '127.0.0.1' },
    { host: '[::1]:8080', origin: 'http://[::1]:3000' },
    { host: '127.8.8.8', origin: 'http://localhost' },
  ])('does everything for %j', (headers) => {
    expect([...withoutKeys(new Headers(headers)).scopes]).toContain('admin');
  });

  test.each([
    { host: 'rebound.example.com' },
    { host: '127.0.0.1.example.com' },
    { host: 'localhost.example.com:8080' },
    { host: '10.0.0.1' },
    { host: 'localhost', origin: 'https://example.com' },
    { host: 'localhost', origin: 'null' },
    { host: 'localhost', origin: 'http://localhost.example.com' },
  ])('refuses %j', (headers) => {
    expect(codeOf(withoutKeys, headers)).toBe('FORBIDDEN_ORIGIN');
  });
});

test('loopback names are those that can mean nothing else', () => {
  expect(['localhost', 'LOCALHOST', '127.0.0.1', '127.255.0.9', '::1', '[::1]'].every(isLoopbackName)).toBe(true);
  expect(['0.0.0.0', '::', '192.168.0.1', 'localhost.evil', '1127.0.0.1', ''].some(isLoopbackName)).toBe(false);
});
