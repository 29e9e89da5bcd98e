import { IndexDocument } from '#domain/definition/index-document.js';

/** Returns an index with the given fields. Default: `X`, which weights all securities of the calendar `MAIN` equally. */
export const createDocument = ({ id = 'X', ...fields }: Readonly<Record<string, unknown>>): IndexDocument =>
  IndexDocument.parse({
    id,
    name: id,
    calendar: 'MAIN',
    pipeline: { weighting: { type: 'EqualWeight' } },
    ...fields,
  });
