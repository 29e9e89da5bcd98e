import { Refusal } from '#domain/refusals/refusal.js';

/** Returns the refusal for a damaged artifact. The file is named only in its cause, for the log. */
export const refuseDamagedArtifact = (name: string, cause?: unknown): Refusal =>
  new Refusal('DOCUMENT_UNREADABLE', 'The stored bytes are missing or damaged.', null, {
    cause: new Error(`artifact ${name}`, cause === undefined ? {} : { cause }),
  });
