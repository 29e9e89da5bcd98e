import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { loadSystemCalls } from '#kernels/memory/paged-memory.js';
import { loadSystemSha256 } from '#kernels/memory/system-sha256.js';

const BYTES = Uint8Array.from({ length: 100_003 }, (_, i) => (i * 31 + (i >> 8)) & 255);

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

test('threads of the system compute the hash of Node, for parts of any length', async ({ skip }) => {
  if (loadSystemCalls() === null) skip('hashes are made by others with the optional package koffi');
  for (const part of [1000, 65_536, 200_000]) {
    const hash = loadSystemSha256()!;
    for (let offset = 0; offset < BYTES.length; offset += part) await hash.add(BYTES.subarray(offset, offset + part));
    expect(await hash.hex()).toBe(sha256(BYTES));
  }
  expect(await loadSystemSha256()!.hex()).toBe(sha256(new Uint8Array(0)));
});

test('bytes are hashed as they are at the call, even if their memory changes', async ({ skip }) => {
  if (loadSystemCalls() === null) skip('as above');
  const [hash, bytes] = [loadSystemSha256()!, BYTES.slice()];
  await hash.add(bytes);
  bytes.fill(0);
  await hash.add(bytes.subarray(0, 10));
  expect(await hash.hex()).toBe(sha256(Buffer.concat([BYTES, new Uint8Array(10)])));
});

test('bytes are hashed in their memory, in the order of the calls', async ({ skip }) => {
  if (loadSystemCalls() === null) skip('as above');
  const hash = loadSystemSha256()!;
  const shared = new Uint8Array(new SharedArrayBuffer(BYTES.length));
  shared.set(BYTES);
  for (let offset = 0; offset < shared.length; offset += 40_000) hash.begin(shared.subarray(offset, offset + 40_000));
  await hash.add(BYTES.subarray(0, 10));
  expect(await hash.hex()).toBe(sha256(Buffer.concat([BYTES, BYTES.subarray(0, 10)])));
});

test('hashes computed in parallel are independent', async ({ skip }) => {
  if (loadSystemCalls() === null) skip('as above');
  const hashes = Array.from({ length: 8 }, () => loadSystemSha256()!);
  for (let part = 0; part < 5; part++)
    await Promise.all(hashes.map((hash, i) => hash.add(BYTES.subarray(i + 7000 * part, i + 7000 * (part + 1)))));
  expect(await Promise.all(hashes.map((hash) => hash.hex()))).toEqual(
    hashes.map((_, i) => sha256(BYTES.subarray(i, i + 35_000))),
  );
});
