import { readSettings } from './settings.js';
import { table } from './terminal.js';

/** `divisor config`: every setting with its value and where that came from. */
export function config(argv: readonly string[], environment: NodeJS.ProcessEnv): number {
  const { rows } = readSettings(argv, environment);
  const cells = rows.map(({ name, value, source, help }) => [name, value, source, help]);
  process.stdout.write(table([['setting', 'value', 'source', 'meaning'], ...cells], 0));
  return 0;
}
