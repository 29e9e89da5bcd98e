import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { type DocumentChange, listChanges } from '#domain/base/json.js';

/** Applies operations as RFC 6902 defines them. Also checks the previous values that the operations state. */
function applyChanges(before: unknown, changes: readonly DocumentChange[]): unknown {
  const root = { '': structuredClone(before) } as Record<string, unknown>;
  for (const { path, op, before: was, after } of changes) {
    const words = ['', ...path.split('/').slice(1)].map((word) => word.replaceAll('~1', '/').replaceAll('~0', '~'));
    const lastWord = words.pop()!;
    const holder = words.reduce<unknown>((at, word) => (at as Record<string, unknown>)[word], root);
    const members = holder as Record<string, unknown>;
    if (op !== 'add') expect(members[lastWord]).toEqual(was);
    const value = structuredClone(after);
    if (Array.isArray(holder) && op === 'add') holder.splice(Number(lastWord), 0, value);
    else if (Array.isArray(holder) && op === 'remove') holder.splice(Number(lastWord), 1);
    else if (op === 'remove') delete members[lastWord];
    else members[lastWord] = value;
  }
  return root[''];
}

const json = fc
  .jsonValue({ maxDepth: 4, noUnicodeString: false })
  .filter((value) => !/__proto__/.test(JSON.stringify(value)));

test('the changes of two documents, applied to the one, give the other', () => {
  fc.assert(
    fc.property(json, json, (before, after) => {
      expect(applyChanges(before, listChanges(before, after))).toEqual(after);
    }),
    { numRuns: 300 },
  );
});

test('a list that lost, gained and changed rows gives the other when its changes are applied', () => {
  const row = fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd'), cap: fc.constantFrom(0.1, 0.2, null) });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 6 }), fc.array(row, { maxLength: 6 }), (before, after) => {
      expect(applyChanges({ rows: before }, listChanges({ rows: before }, { rows: after }))).toEqual({ rows: after });
    }),
    { numRuns: 300 },
  );
});

test('equal documents have no changes, whatever the order of their members', () => {
  expect(listChanges({ a: [1, { b: null }], c: '' }, { c: '', a: [1, { b: null }] })).toEqual([]);
});

test('a security put at the front of a list is one addition', () => {
  expect(listChanges({ identifiers: ['B', 'C'] }, { identifiers: ['A', 'B', 'C'] })).toEqual([
    { path: '/identifiers/0', op: 'add', before: null, after: 'A' },
  ]);
});

test('paths are JSON pointers: a slash in a name is ~1, a tilde ~0', () => {
  expect(listChanges({ 'a/b': { '~': 1 } }, { 'a/b': { '~': 2 } })).toEqual([
    { path: '/a~1b/~0', op: 'replace', before: 1, after: 2 },
  ]);
});
