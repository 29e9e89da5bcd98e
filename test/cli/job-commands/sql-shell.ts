import { expect, test } from 'vitest';
import { runOnTerminal } from '../pseudo-terminal.js';

/** Tests the SQL shell on a terminal. @param environment address and key of the service, for the command */
export function testSqlShell(environment: () => Record<string, string>): void {
  test('an SQL shell accepts statements over several lines, continues after an error and ends with exit', async () => {
    const typedText = 'SELECT 2 AS two,\n3 AS three;\nSELECT nothing;\nSELECT 7 AS last;\nexit\n';
    const { status, screen } = await runOnTerminal(['sql'], environment(), `${typedText}SELECT 'after the end';\n`);
    expect(status).toBe(0);
    const screenText = screen.map((line) => line.trim()).join('\n');
    expect(screenText).toMatch(/two +three\n2 +3\n1 row\n.*Line 1, column 8: .*\n(?:.*\n)*.*last\n7\n1 row\n/);
    expect(screenText).not.toMatch(/^after the end$/m);
  });
}
