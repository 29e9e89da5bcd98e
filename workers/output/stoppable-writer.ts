import type { TaskControl } from '#jobs/thread-messages.js';
import type { JsonBytesWriter } from '#views/json-writer.js';

/** Wraps a writer that checks for a cancellation before each list of numbers. @throws CancelledError */
export function wrapStoppable(json: JsonBytesWriter, { report }: TaskControl): JsonBytesWriter {
  return {
    ...json,
    numbers(values, from, to) {
      report(0);
      json.numbers(values, from, to);
    },
  };
}
