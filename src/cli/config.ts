import { readSettings } from './settings.js';
import { formatTable } from './terminal.js';

/** Runs `divisor config`: prints every setting, its value, and where the value comes from. */
export function printConfig(argv: readonly string[], environment: NodeJS.ProcessEnv): number {
  const { rows } = readSettings(argv, environment);
  const cells = rows.map(({ name, value, source, help }) => [name, value, source, help]);
  process.stdout.write(formatTable([['setting', 'value', 'source', 'meaning'], ...cells], 0));
  return 0;
}
