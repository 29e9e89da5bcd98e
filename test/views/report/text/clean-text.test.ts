import { fc } from '../../../fast-check.js';
import { expect, test } from 'vitest';
import { cleanLine, cleanText } from '#views/report/text.js';

test('control characters, direction marks and half surrogates are removed', () => {
  expect(cleanLine('A\u0000B\u0007C\u202ED\u200BE\uD800F\uFEFF')).toBe('ABCDEF');
});

test('white space of any kind is one space in a line, and line breaks stay in a text', () => {
  expect(cleanLine(' a\t\u00a0b\r\n c ')).toBe('a b c');
  expect(cleanText('a\r\nb\rc\u2028d\te')).toBe('a\nb\nc\nd e');
});

test('letters of every script are kept, composed', () => {
  expect(cleanLine('Ελλάδα 中国石油 한국 Ångström e\u0301')).toBe('Ελλάδα 中国石油 한국 Ångström é');
});

test('a cleaned line has no unprintable character', () => {
  fc.assert(
    fc.property(fc.createBinaryText(), (text) => {
      expect(/[\p{Cc}\p{Cf}\p{Cs}]/u.test(cleanLine(text))).toBe(false);
    }),
  );
});
