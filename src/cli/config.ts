import { readSettings } from './settings.js';
import { formatTable } from './terminal.js';

/** Runs `divisor config`: prints every setting, its value in force, and where the value comes from. */
export function printConfig(argv: readonly string[], environment: NodeJS.ProcessEnv): number {
  const { rows } = readSettings(argv, environment);
  const cells = rows.map(({ flag, variable, value, source, help }) => [
    flag === undefined ? '' : `--${flag}`,
    variable,
    value,
    source,
    help,
  ]);
  process.stdout.write(formatTable([['flag', 'variable', 'value', 'source', 'meaning'], ...cells], 0));
  return 0;
}
