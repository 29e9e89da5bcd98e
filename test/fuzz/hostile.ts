import { fc } from '../fast-check.js';

/** Marks a place in a value. After serialisation, text that JSON.stringify cannot produce replaces the mark. */
const RAW = '\u0001raw:';

const markRaw = (text: string) => `${RAW}${text}`;

/**
 * JSON text that JSON.stringify does not produce for any value: numbers beyond a double, duplicate keys, keys with a
 * special meaning, deep nesting.
 */
const RAW_TEXTS: readonly string[] = [
  '1e400',
  '-1e400',
  'NaN',
  'Infinity',
  '01',
  '0x10',
  '1e-400',
  '-0',
  '-0.0',
  '123456789012345678901234567890',
  '1E+2',
  '.5',
  '1.',
  '{"a":1,"a":2}',
  '{"a":1,"\\u0061":2}',
  '{"__proto__":{"polluted":true}}',
  '{"\\u005f_proto__":1}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"toString":1,"hasOwnProperty":2}',
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\\u0000"',
  '"\\u202e\\u2066"',
  "'a'",
  'undefined',
  '[1,]',
  '{"a":1,}',
  '[',
  '"',
  '/*x*/1',
  '\u00a01',
  '\ufeff1',
  '['.repeat(63) + ']'.repeat(63),
  '['.repeat(65) + ']'.repeat(65),
  '['.repeat(50_000) + ']'.repeat(50_000),
  '{"a":'.repeat(5000) + '1' + '}'.repeat(5000),
  '['.repeat(50_000),
  `{${Array.from({ length: 2000 }, (_, i) => `"${i * 65_536}":0`).join(',')}}`,
  `{${Array.from({ length: 20_001 }, (_, i) => `"k${i}":0`).join(',')}}`,
  `[${'0,'.repeat(20_000)}0]`,
  `"${'x'.repeat(70_000)}"`,
  `"${'\\u00e9'.repeat(10_000)}"`,
];

/** Strings with a special meaning for a file system, a shell, a header, a spreadsheet, a database or a pattern. */
export const HOSTILE_TEXTS: readonly string[] = [
  '',
  ' ',
  '.',
  '..',
  '../../../../etc/passwd',
  '/etc/passwd',
  '/proc/self/environ',
  'C:\\windows',
  '\\\\host\\share',
  'file:///etc/passwd',
  '/tmp/../etc',
  '~root',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '__defineGetter__',
  'null',
  'undefined',
  'NaN',
  'true',
  'a\r\nSet-Cookie: x=1',
  'a\nb',
  'a\tb',
  '\u0000',
  'a\u0000b',
  '\u001b[31m',
  '\u202eabc',
  '\u200b',
  'é',
  'e\u0301',
  'ﬁ',
  'ＡＢＣ',
  '💥',
  '\ud83d',
  'а',
  'İ',
  'ß',
  'K',
  '=1+1',
  '@SUM(A1)',
  '+1',
  '-1',
  "'",
  '"',
  '`',
  '<script>alert(1)</script>',
  '${7*7}',
  '{{7*7}}',
  '%s%n',
  '%00',
  '%2e%2e%2f',
  '; DROP TABLE x',
  "' OR 1=1 --",
  '$where',
  '*',
  '(((((((((((',
  'a'.repeat(64),
  'a'.repeat(65),
  'a'.repeat(300),
  `${'a'.repeat(40)}!`,
  `${' '.repeat(60)}x`,
  `${'1'.repeat(400)}`,
  `${'9'.repeat(50)}.${'9'.repeat(50)}`,
  '2024-02-30',
  '2024-13-01',
  '0000-01-01',
  '9999-12-31',
  '10000-01-01',
  '-0001-01-01',
  '2023-02-29',
  '2024-01-02T00:00:00Z',
  '2024-1-2',
  '20240102',
  '1970-01-01',
  '2024-01-02\n',
  'postgres://user:hunter2@127.0.0.1/db',
  'postgresql://localhost/x?sslcert=/etc/passwd',
  'http://169.254.169.254/latest/meta-data',
  'sqlite:///etc/passwd',
  'gopher://localhost:6379/_FLUSHALL',
];

const HOSTILE_NUMBERS: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.5,
  1e-300,
  5e-324,
  1e308,
  -1e308,
  Number.MAX_SAFE_INTEGER,
  2 ** 53,
  -(2 ** 53),
  2 ** 31,
  -(2 ** 31),
  2 ** 32,
  1e21,
  1e-7,
  0.1 + 0.2,
  65_536,
  253,
];

/** Random values that are unexpected at any position. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  { weight: 3, arbitrary: fc.constantFrom(...HOSTILE_NUMBERS) },
  { weight: 2, arbitrary: fc.constantFrom(...RAW_TEXTS).map(markRaw) },
  { weight: 2, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { '': '' }) },
  { weight: 1, arbitrary: fc.createBinaryText({ maxLength: 40 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

type Path = readonly (string | number)[];

/** A change of a value: its place in the list of all positions, modulo their number, and the new content. */
type Change =
  | { readonly kind: 'replace'; readonly at: number; readonly value: unknown }
  | { readonly kind: 'drop'; readonly at: number }
  | { readonly kind: 'add'; readonly at: number; readonly key: string; readonly value: unknown }
  | { readonly kind: 'repeat'; readonly at: number; readonly times: number };

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('replace' as const), at: fc.nat(1000), value: hostileValue }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('drop' as const), at: fc.nat(1000) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      at: fc.nat(1000),
      key: fc.constantFrom(...HOSTILE_TEXTS),
      value: hostileValue,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('repeat' as const),
      at: fc.nat(1000),
      times: fc.constantFrom(2, 50, 2000),
    }),
  },
);

/** Returns values that are changed at one to three positions. */
export function createNearlyValid(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(value, fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([sound, changes]) => changes.reduce(changePart, sound));
}

function changePart(value: unknown, edit: Change): unknown {
  const places = listPlaces(value);
  return editAt(value, places[edit.at % places.length]!, edit);
}

/**
 * Returns every position of a value, including the value itself. For a large value it returns only the first positions.
 */
function listPlaces(value: unknown, path: Path = [], places: Path[] = []): readonly Path[] {
  if (places.length >= 400) return places;
  places.push(path);
  if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value))
      listPlaces(member, [...path, Array.isArray(value) ? Number(key) : key], places);
  }
  return places;
}

function editAt(value: unknown, [key, ...rest]: Path, edit: Change): unknown {
  if (key === undefined) return applyEdit(value, edit);
  if (Array.isArray(value)) {
    if (rest.length === 0 && edit.kind === 'drop') return value.filter((_, i) => i !== key);
    return value.map((member: unknown, i) => (i === key ? editAt(member, rest, edit) : member));
  }
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  const retainedEntries =
    rest.length === 0 && edit.kind === 'drop' ? entries.filter(([name]) => name !== key) : entries;
  return createObjectFrom(
    retainedEntries.map(([name, member]) => [name, name === key ? editAt(member, rest, edit) : member]),
  );
}

function applyEdit(value: unknown, edit: Change): unknown {
  switch (edit.kind) {
    case 'drop':
      return null;
    case 'replace':
      return edit.value;
    case 'repeat':
      return Array.isArray(value) && value.length > 0
        ? Array.from({ length: Math.min(edit.times, 2000) }, (_, i) => value[i % value.length] as unknown)
        : [value, value];
    case 'add':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
        ? createObjectFrom([...Object.entries(value), [edit.key, edit.value]])
        : { [edit.key]: edit.value };
  }
}

/** Creates an object in which `__proto__` is an ordinary key. */
function createObjectFrom(entries: readonly (readonly [string, unknown])[]): unknown {
  const object = Object.create(null) as Record<string, unknown>;
  for (const [name, member] of entries) object[name] = member;
  return object;
}

/** Returns the JSON text of a value, with raw texts in place of their marks. */
export function formatJsonValue(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replaceAll(
    /"\\u0001raw:((?:[^"\\]|\\.)*)"/g,
    (_, quoted: string) => JSON.parse(`"${quoted}"`) as string,
  );
}
