import { createRandomConvexAccount } from './convex-accounts.js';

/** Script that writes the convex accounts as lines of JSON for `convex-reference.py`. */
const toPlain = (_: string, value: unknown): unknown =>
  ArrayBuffer.isView(value) ? Array.from(value as Float64Array) : value === Infinity ? 'inf' : value;
for (let seed = 1; seed <= 8; seed++)
  process.stdout.write(`${JSON.stringify(createRandomConvexAccount(seed), toPlain)}\n`);
