import { expect, test } from 'vitest';
import { z } from 'zod';
import { findCause, parseStored, readStoredBody } from '#store/port.js';

const Note = z.object({ text: z.string() });
const readableDocument = { id: 'N', body: { text: 'kept' } };

test('the body of a document is read with its id, and validated by a schema', () => {
  expect(parseStored(readableDocument, Note)).toEqual({ text: 'kept' });
  expect(readStoredBody(readableDocument, (body, id) => [body, id])).toEqual([readableDocument.body, 'N']);
});

test.each([
  ['absent', undefined, undefined],
  ['unreadable', { id: 'N', unreadable: 'unsupported' } as const, 'unsupported'],
  ['invalid', { id: 'N', body: { text: 1 } }, 'invalid'],
])('a document that is %s has no body', (_state, document, cause) => {
  expect(parseStored(document, Note)).toBeUndefined();
  expect(findCause(document, (body) => Note.safeParse(body).data)).toBe(cause);
});
