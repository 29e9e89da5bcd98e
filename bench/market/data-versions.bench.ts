import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contentHash, digestContent } from '#market/content/content.js';
import type { MarketContent } from '#market/content/market-content.js';
import { createProblems } from '#market/content/problems.js';
import { writeMarket } from '#market/content/write-market.js';
import { folderFiles } from '#market/sources/folder.js';
import { createLocations } from '#market/sources/locations.js';
import { readSource } from '#market/sources/read-source.js';
import { textFrom } from '../variables.js';
import { contentChange, decodeChange, encodeChange } from '#market/versions/content-change.js';
import { decodeContent, encodeContent } from '#market/versions/content-copy.js';
import { earlierContent } from '#market/versions/earlier-content.js';

/**
 * What the versions of a market cost: 500 names x 20 years, of which the last 500 days were appended one by one, with
 * 50 corrections between them. Space is that of all changes beside the last content as it is stored; time is that of an
 * earlier content, with its hash, beside a load of the last one in this process. A copy of a content that others may
 * change costs its space and its time once.
 */
const NAMES = 500;
const DAYS = 5040;
const APPENDED = 500;
const CORRECTIONS = 50;

/** mulberry32. */
let state = 1;
function random(): number {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}

const identifiers = Array.from({ length: NAMES }, (_, n) => `N${String(n).padStart(3, '0')}`);
const dates = Int32Array.from({ length: DAYS }, (_, t) => 12_000 + t);
const closes = Float64Array.from({ length: NAMES * DAYS }, () => 10 + Math.round(1e4 * random()) / 100);
/** Each field as a multiple of the close. */
const FIELDS = { OPEN: 1, HIGH: 2, LOW: 0.5, CLOSE: 1, VOLUME: 1000 };
const panels = new Map(
  Object.entries(FIELDS).map(([field, times]) => [
    field,
    new Float64Array(new SharedArrayBuffer(8 * NAMES * DAYS)).map((_, cell) => times * closes[cell]!),
  ]),
);

/** The market up to a day; panels share their memory, as those of a store that is appended to do. */
function upTo(days: number, fields: ReadonlyMap<string, Float64Array> = panels): MarketContent {
  return {
    identifiers,
    dates: dates.subarray(0, days),
    fields: new Map([...fields].map(([field, values]) => [field, values.subarray(0, days * NAMES)])),
    reference: {
      columns: ['SECTOR'],
      rows: new Map(identifiers.map((n) => [n, [{ validFrom: null, values: ['S'] }]])),
    },
    actions: [],
    universes: [],
  };
}

const changes: Uint8Array[] = [];
/** Versions that are looked at: so many before the last. */
const BACK = [0, 1, 252, 500];
const VERSIONS = APPENDED + CORRECTIONS;
/** Whether each of all versions is made again and compared by its hash, too: some minutes. */
const IS_EVERY = textFrom('EVERY_VERSION') !== undefined;
const hashes = new Map<number, string>();
let fields: ReadonlyMap<string, Float64Array> = panels;
let content = upTo(DAYS - APPENDED);
async function next(after: MarketContent): Promise<void> {
  if (IS_EVERY || BACK.includes(VERSIONS - changes.length)) hashes.set(changes.length, await contentHash(content));
  changes.push(encodeChange(contentChange(content, after)));
  content = after;
}

const started = performance.now();
for (let day = 1; day <= APPENDED; day++) {
  if (day % (APPENDED / CORRECTIONS) === 0) {
    const corrected = new Float64Array(new SharedArrayBuffer(8 * NAMES * DAYS));
    corrected.set(fields.get('CLOSE')!);
    corrected[Math.floor(random() * NAMES * (DAYS - APPENDED))]! *= 1.01;
    fields = new Map([...fields, ['CLOSE', corrected]]);
    await next(upTo(DAYS - APPENDED + day - 1, fields));
  }
  await next(upTo(DAYS - APPENDED + day, fields));
}
console.log(`${changes.length} versions made in ${((performance.now() - started) / 1000).toFixed(1)} s`);

const folder = await mkdtemp(join(tmpdir(), 'divisor-bench-'));
try {
  const files = await writeMarket(folder, content, () => {});
  const stored = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const kept = changes.reduce((sum, { length }) => sum + length, 0);
  console.log(
    `space: ${(stored / 2 ** 20).toFixed(1)} MiB of the last content, ${(kept / 2 ** 10).toFixed(0)} KiB of changes: ${((stored + kept) / stored).toFixed(4)} x`,
  );
  const listed = await folderFiles(folder, { tables: {}, mapping: null }, createLocations([folder]), createProblems());
  const load = await timed(async () => {
    const read = await readSource(listed, createProblems(), () => {});
    return (await digestContent(read!.content)).hash;
  });
  console.log(`a load: ${load.ms.toFixed(0)} ms`);
  const before = process.cpuUsage();
  const pieces: Uint8Array[] = [];
  for (let from: number | null = 0; from !== null;) {
    const made = encodeContent(content, from);
    pieces.push(...made.piece);
    from = made.next;
  }
  const copy = Buffer.concat(pieces);
  const { user, system } = process.cpuUsage(before);
  const again = await timed(async () => (await digestContent(decodeContent(copy))).hash);
  if (again.value !== load.value) throw new Error('the copy has another hash');
  console.log(
    `a copy: ${(copy.length / 2 ** 20).toFixed(1)} MiB, made in ${((user + system) / 1000).toFixed(0)} ms of processor, read in ${again.ms.toFixed(0)} ms, ${(again.ms / load.ms).toFixed(2)} x a load`,
  );
  for (const back of BACK) {
    const at = VERSIONS - back;
    const earlier = await timed(async () => {
      const again = earlierContent(content, changes.slice(at).toReversed().map(decodeChange));
      return (await digestContent(again)).hash;
    });
    if (earlier.value !== (hashes.get(at) ?? load.value)) throw new Error(`version ${at} has another hash`);
    console.log(`${back} versions ago: ${earlier.ms.toFixed(0)} ms, ${(earlier.ms / load.ms).toFixed(2)} x a load`);
  }
  if (IS_EVERY) await checkEvery();
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Goes back version by version: each is made from the one after it. */
async function checkEvery(): Promise<void> {
  let made = content;
  for (let version = VERSIONS - 1; version >= 0; version--) {
    made = earlierContent(made, [decodeChange(changes[version]!)]);
    if ((await digestContent(made)).hash !== hashes.get(version))
      throw new Error(`version ${version} has another hash`);
  }
  console.log(`${VERSIONS} earlier versions made again, each with its hash`);
}

/** The shortest of three times. */
async function timed(work: () => Promise<string>): Promise<{ readonly ms: number; readonly value: string }> {
  let best = { ms: Infinity, value: '' };
  for (let round = 0; round < 3; round++) {
    const start = performance.now();
    const value = await work();
    const ms = performance.now() - start;
    if (ms < best.ms) best = { ms, value };
  }
  return best;
}
