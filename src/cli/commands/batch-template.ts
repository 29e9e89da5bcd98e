import { parseArgs } from 'node:util';
import { createAccountTemplate, listAccountColumns } from '#domain/personal/account-table.js';
import { formatTable, writeWhole } from '../terminal.js';

const HELP =
  (): string => `divisor batch template: Write a table of accounts with every column and two example accounts.

Usage: divisor batch template [--out FILE]

Columns
${formatTable(listAccountColumns().map(({ name, help }) => [name, help]))}
A row describes a lot. A row with a value in traded describes a recent trade. A row with the identifier CASH has the amount of cash in
shares. Write each column from cash on in one row of the account. Entries of a list are separated by /, and groups of substitutes
by //. A tilt is identifier=weight.
`;

/** Runs `divisor batch template`, which needs no service. */
export async function runBatchTemplate(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: { out: { type: 'string' }, help: { type: 'boolean' } } });
  if (values.help === true) process.stdout.write(HELP());
  else if (values.out === undefined) process.stdout.write(createAccountTemplate());
  else await writeWhole(values.out, [Buffer.from(createAccountTemplate())]);
  return 0;
}
