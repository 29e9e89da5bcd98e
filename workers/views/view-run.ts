import type { Task } from '#jobs/tasks.js';
import type { RunViewInput, RunViewName } from '#jobs/tasks/views.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import { createJsonWriter } from '#views/json-writer.js';
import { copyWithHash } from '../output/hand-over.js';
import { wrapStoppable } from '../output/stoppable-writer.js';
import { RUN_VIEWS } from './catalogue.js';
import type { RunView } from './run-view.js';

/** Computes a view of stored runs from ranges of their columns, and writes it as bytes. */
export const viewRun: Task<'view-run'> = async (input, control) => {
  const view = RUN_VIEWS[input.view] as RunView<RunViewName>; // the catalogue has the view under the name in the input
  return copyWithHash(await computeBytes(view, input, control));
};

async function computeBytes(
  view: RunView<RunViewName>,
  input: RunViewInput,
  control: TaskControl,
): Promise<Uint8Array> {
  if (view.file !== undefined && (input.format ?? 'json') !== 'json') return view.file(input, control);
  const { bytes, write } = await view.show(input, control);
  const json = wrapStoppable(createJsonWriter(bytes), control);
  write(json);
  return json.bytes();
}
