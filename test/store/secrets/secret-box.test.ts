import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { changePassword, createSecretBox, parseSecretKeys } from '#store/secret-box.js';

const key = randomBytes(32);
const secretBox = createSecretBox(key);

describe('a sealed text', () => {
  test('is read only with its key, is equal every time, and differs from every other', () => {
    const texts = ['', 'a', 'secret', 'sécret ✓', 'x'.repeat(10_000)];
    const sealedTexts = texts.map(secretBox.seal);
    expect(sealedTexts.map(secretBox.open)).toEqual(texts);
    expect(new Set(sealedTexts).size).toBe(texts.length);
    expect(secretBox.seal('secret')).toBe(sealedTexts[2]);
    expect(sealedTexts.some((text) => text.includes('secret'))).toBe(false);
    expect(() => createSecretBox(randomBytes(32)).open(sealedTexts[2]!)).toThrow('the key is a different one');
    expect(() => createSecretBox(undefined).open(sealedTexts[2]!)).toThrow('no key is configured');
  });

  test('with one changed character is refused', () => {
    const sealedText = secretBox.seal('secret');
    for (let i = 'enc.v1.'.length; i < sealedText.length - 1; i++) {
      const changedText = sealedText.slice(0, i) + (sealedText[i] === 'A' ? 'B' : 'A') + sealedText.slice(i + 1);
      expect(() => secretBox.open(changedText)).toThrow();
    }
  });

  test('is not sealed again', () => {
    expect(secretBox.seal(secretBox.seal('a'))).toBe(secretBox.seal('a'));
  });
});

test('without a key texts are unchanged', () => {
  const openBox = createSecretBox(undefined);
  expect([openBox.seal('a'), openBox.open('a'), openBox.hasKey]).toEqual(['a', 'a', false]);
});

test('a key is 32 bytes in base64 or hexadecimal digits', () => {
  expect(parseSecretKeys(`${key.toString('base64')}\n`)).toEqual({ key, earlier: [] });
  expect(parseSecretKeys(key.toString('hex'))).toEqual({ key, earlier: [] });
  for (const text of ['', 'short', randomBytes(31).toString('base64'), randomBytes(64).toString('base64')])
    expect(parseSecretKeys(text)).toBeUndefined();
});

test('earlier keys follow the encrypting key, or no key', () => {
  const [first, second] = [randomBytes(32), randomBytes(32)];
  const [a, b, c] = [key.toString('base64'), first.toString('hex'), second.toString('base64')];
  expect(parseSecretKeys(`${a}\n${b}\n\n${c}\n`)).toEqual({ key, earlier: [first, second] });
  expect(parseSecretKeys(`${a},${b}`)).toEqual({ key, earlier: [first] });
  expect(parseSecretKeys(`none ${b}`)).toEqual({ key: undefined, earlier: [first] });
  for (const text of ['none', `${a} none`, `${a} short`, 'none none', `none ${a} short`])
    expect(parseSecretKeys(text)).toBeUndefined();
});

test('the password of a URL is changed, and nothing else of it', () => {
  const url = 'postgresql://user:p%40ss@host:5432/db?sslmode=require';
  const sealedUrl = changePassword(url, secretBox.seal);
  expect(sealedUrl).toMatch(/^postgresql:\/\/user:enc\.v1\.[\w-]+@host:5432\/db\?sslmode=require$/);
  expect(changePassword(sealedUrl, secretBox.open)).toBe(url);
  for (const plainText of ['postgresql://user@host/db', 'sqlite:///a:b@c', '/folder', 'not a url'])
    expect(changePassword(plainText, secretBox.seal)).toBe(plainText);
});
