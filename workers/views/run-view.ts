import type { InputOfView, RunViewName } from '#jobs/tasks/views.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import type { JsonWriter } from '#views/json-writer.js';

/** Computed view, ready to be written. */
export interface ComputedView {
  /** Expected number of bytes, if it can be estimated. */
  readonly bytes?: number;
  write(json: JsonWriter): void;
}

/** Computation of a view from the columns of a run, and its output. */
export interface RunView<N extends RunViewName> {
  show(input: InputOfView<N>, control: TaskControl): ComputedView | Promise<ComputedView>;
  /** Writes a table of the view in the requested format, if its route offers formats other than JSON. */
  file?(input: InputOfView<N>, control: TaskControl): Uint8Array | Promise<Uint8Array>;
}

/** Returns a view that is written as one JSON object. */
export const createObjectView = (view: object): ComputedView => ({ write: (json) => json.value(view) });

/** Returns the requested window. An open side is null. */
export const createWindow = ({ start, end }: Window) => ({ start: start ?? null, end: end ?? null });

interface Window {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}
