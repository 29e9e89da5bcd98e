import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { NO_HASH, type PublicationEntry, type PublicKey } from '#domain/definition/publication.js';
import { createHashSigner, createLogsCheck, createSigningKey, verifyLog } from '#store/history/publication-log.js';
import { computeStatementHash } from '#store/history/log-check.js';
import { fc } from '../../fast-check.js';

const key = createSigningKey('2024-01-01T00:00:00.000000+00:00');
const otherKey = createSigningKey('2024-01-01T00:00:00.000000+00:00');
const keys: ReadonlyMap<string, PublicKey> = new Map([key, otherKey].map((one) => [one.key_id, one]));

/** Returns a log with this number of closes. One key signed it. */
async function createLog(closes: number): Promise<PublicationEntry[]> {
  const log: PublicationEntry[] = [];
  for (let seq = 1; seq <= closes; seq++) {
    const statedEntry = {
      seq,
      index_id: 'EQ',
      date: `2024-03-${String(seq).padStart(2, '0')}`,
      kind: 'close' as const,
      price: 100 + seq / 3,
      total: seq % 2 === 0 ? null : 100 + seq,
      net: 1e-7 * seq,
      divisor: 1e21,
      composition_hash: createHash('sha256').update(String(seq)).digest('hex'),
      data_hash: 'content',
      index_version: seq,
      engine: '0.2.0',
      reason: null,
      at: '2024-04-01T00:00:00.000000+00:00',
      author: 'Анна',
      previous: log.at(-1)?.hash ?? NO_HASH,
      key_id: key.key_id,
    };
    const hash = computeStatementHash(statedEntry);
    log.push({ ...statedEntry, hash, signature: await createHashSigner(key)(hash) });
  }
  return log;
}

let log: readonly PublicationEntry[];
beforeAll(async () => {
  log = await createLog(9);
});

const findFaultSeq = (entries: readonly unknown[], head: string | null = null) => {
  const verdict = verifyLog(entries, { keys, head });
  return 'reason' in verdict ? verdict.seq : 0;
};

test('the hash of an entry is the SHA-256 of its canonical JSON', () => {
  const text = '{"author":"Анна","date":"2024-01-02","net":null,"price":1e-7,"seq":1,"total":1e+21}';
  const entry = { total: 1e21, seq: 1, price: 1e-7, net: null, date: '2024-01-02', author: 'Анна' };
  expect(computeStatementHash(entry)).toBe(createHash('sha256').update(text).digest('hex'));
});

test('an unchanged log is valid', () => {
  expect(verifyLog(log, { keys, head: log.at(-1)!.hash })).toEqual({ entries: 9, head: log.at(-1)!.hash });
  expect(verifyLog([], { keys, head: null })).toEqual({ entries: 0, head: NO_HASH });
});

describe('verification reports the first changed entry', () => {
  const changeValue = (value: unknown): unknown => {
    if (typeof value === 'number') return value * (1 + 2 ** -52) + 1e-300;
    if (typeof value === 'string') return value.replace(/.$/su, (last) => (last === '0' ? '1' : '0'));
    return value === null ? 0 : null;
  };

  test.each([
    'seq',
    'index_id',
    'date',
    'kind',
    'price',
    'total',
    'net',
    'divisor',
    'composition_hash',
    'data_hash',
    'index_version',
    'engine',
    'reason',
    'at',
    'author',
    'previous',
    'hash',
    'key_id',
    'signature',
  ] as const)('after an edit of %s', (member) => {
    for (const position of [0, 4, 8]) {
      const editedLog = log.map((entry, i) =>
        i === position ? { ...entry, [member]: changeValue(entry[member]) } : entry,
      );
      expect(editedLog[position]![member]).not.toEqual(log[position]![member]);
      expect(findFaultSeq(editedLog), `entry ${position + 1}`).toBe(position + 1);
      const lackingLog = log.map((entry, i) => (i === position ? { ...entry, [member]: undefined } : entry));
      expect(findFaultSeq(lackingLog), `entry ${position + 1} without it`).toBe(position + 1);
    }
  });

  test('after an addition to an entry', () => {
    expect(findFaultSeq(log.map((entry, i) => (i === 3 ? { ...entry, comment: '' } : entry)))).toBe(4);
  });

  test('after an omission, a repetition or an exchange of entries', () => {
    fc.assert(
      fc.property(fc.nat(7), fc.nat(8), (from, to) => {
        expect(findFaultSeq(log.filter((_, i) => i !== from))).toBe(from + 1);
        expect(findFaultSeq([...log.slice(0, from + 1), ...log.slice(from)])).toBe(from + 2);
        if (to === from) return;
        const swappedLog = [...log];
        [swappedLog[from], swappedLog[to]] = [log[to]!, log[from]!];
        expect(findFaultSeq(swappedLog)).toBe(Math.min(from, to) + 1);
      }),
    );
  });

  test('after an omission at the end, if the last hash is known', () => {
    expect(findFaultSeq(log.slice(0, -1))).toBe(0);
    expect(findFaultSeq(log.slice(0, -1), log.at(-1)!.hash)).toBe(9);
  });

  test('after a correctly chained forgery that is signed with another key', async () => {
    const { hash: _hash, signature: _signature, ...last } = { ...log.at(-1)!, price: 1 };
    const hash = computeStatementHash(last);
    for (const signer of [otherKey, createSigningKey('2024-01-01T00:00:00.000000+00:00')]) {
      const forgedEntry = { ...last, hash, signature: await createHashSigner(signer)(hash) };
      expect(findFaultSeq([...log.slice(0, -1), forgedEntry])).toBe(9);
    }
  });

  test('if a key signed before it was created, or after it was replaced', () => {
    const findFaultSequence = (members: Partial<PublicKey>) => {
      const verdict = verifyLog(log, { keys: new Map([[key.key_id, { ...key, ...members }]]), head: null });
      return 'reason' in verdict ? verdict.seq : 0;
    };
    expect(findFaultSequence({ valid_from: '2024-04-01T00:00:00.000001+00:00' })).toBe(1);
    expect(findFaultSequence({ valid_until: '2024-03-31T23:59:59.999999+00:00' })).toBe(1);
    expect(findFaultSequence({ valid_until: '2024-04-01T00:00:00.000000+00:00' })).toBe(0);
  });
});

test('a home with a log that lacks a document, or has a different one, is damaged', () => {
  const batches = [log.slice(0, 4), log.slice(4)].map((entries, i) => ({
    kind: 'publication',
    id: `EQ/${i + 1}`,
    body: { entries },
  }));
  const head = { kind: 'publication-head', id: 'EQ', body: { seq: 9, hash: log.at(-1)!.hash, batches: 2 } };
  const listFaults = (documents: readonly { kind: string; id: string; body: unknown }[]) => {
    const check = createLogsCheck();
    for (const document of documents) check.look(document);
    return check.faults().map(({ name }) => name);
  };
  const editedBatch = { ...batches[1]!, body: { entries: log.slice(4).map((entry) => ({ ...entry, total: 1 })) } };
  expect(listFaults([...batches, head])).toEqual([]);
  expect(listFaults([batches[0]!, head])).toEqual(['EQ']);
  expect(listFaults([batches[1]!, head])).toEqual(['EQ']);
  expect(listFaults([batches[0]!, editedBatch, head])).toEqual(['EQ']);
  expect(listFaults(batches)).toEqual(['EQ']);
  expect(listFaults([head])).toEqual(['EQ']);
});
