import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createHash as embeddedHash } from '#engine/embedded/crypto.js';
import { isSignedByPlatform } from '#engine/main.js';
import { createHashSigner, createSigningKey } from '#store/history/publication-log.js';

test('the embedded SHA-256 equals that of Node for every length around a block, divided into any parts', () => {
  for (let length = 0; length <= 200; length++) {
    const bytes = randomBytes(length);
    const cut = length === 0 ? 0 : bytes[0]! % (length + 1);
    const hash = embeddedHash('sha256').update(bytes.subarray(0, cut)).update(bytes.subarray(cut)).digest('hex');
    expect(hash).toBe(createHash('sha256').update(bytes).digest('hex'));
  }
  const long = randomBytes(300_000);
  expect(embeddedHash('sha256').update(long).digest()).toEqual(
    new Uint8Array(createHash('sha256').update(long).digest()),
  );
  expect(embeddedHash('sha256').update('Zürich ≠ 苏黎世').digest('hex')).toBe(
    createHash('sha256').update('Zürich ≠ 苏黎世').digest('hex'),
  );
});

test('the platform accepts a signature of the service, and none of another hash or key', async () => {
  const [key, other] = [createSigningKey('2024-01-01'), createSigningKey('2024-01-01')];
  const hash = createHash('sha256').update('entry').digest('hex');
  const signature = await createHashSigner(key)(hash);
  expect(await isSignedByPlatform({ hash, signature }, key)).toBe(true);
  expect(
    await isSignedByPlatform({ hash: hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')), signature }, key),
  ).toBe(false);
  expect(await isSignedByPlatform({ hash, signature }, other)).toBe(false);
  expect(await isSignedByPlatform({ hash, signature }, { ...other, key_id: key.key_id })).toBe(false);
});
