import type { TaskControl } from '#jobs/thread-messages.js';
import type { JsonBytesWriter } from '#views/json-writer.js';

/** A writer that looks before each list of numbers whether its task is asked to stop. @throws CancelledError */
export function stoppable(json: JsonBytesWriter, { report }: TaskControl): JsonBytesWriter {
  return {
    ...json,
    numbers(values, from, to) {
      report(0);
      json.numbers(values, from, to);
    },
  };
}
