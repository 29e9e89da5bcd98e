import type { InputOfView, RunViewName } from '#jobs/tasks/views.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import type { JsonWriter } from '#views/json-writer.js';

/** A view that is computed and only has to be written. */
export interface Shown {
  /** Expected length, where there is something to go by. */
  readonly bytes?: number;
  write(json: JsonWriter): void;
}

/** How a view is computed from the columns of a run, and written. */
export interface RunView<N extends RunViewName> {
  show(input: InputOfView<N>, control: TaskControl): Shown | Promise<Shown>;
  /** A table of the view in the format of the input, where its route offers other formats than JSON. */
  file?(input: InputOfView<N>, control: TaskControl): Uint8Array | Promise<Uint8Array>;
}

/** A view written as the JSON of one object. */
export const written = (view: object): Shown => ({ write: (json) => json.value(view) });

/** The window asked for, null where a side is open. */
export const windowOf = ({ start, end }: Window) => ({ start: start ?? null, end: end ?? null });

interface Window {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}
