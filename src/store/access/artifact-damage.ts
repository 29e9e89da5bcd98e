import { Refusal } from '#domain/refusals/refusal.js';

/** Refuses to serve an artifact. The message names no file; the cause does, for the log. */
export const damagedArtifact = (name: string, cause?: unknown): Refusal =>
  new Refusal('DOCUMENT_UNREADABLE', 'The stored bytes are missing or damaged.', null, {
    cause: new Error(`artifact ${name}`, cause === undefined ? {} : { cause }),
  });
