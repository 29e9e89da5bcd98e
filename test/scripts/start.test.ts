import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createProject, type Project } from './project.js';

let project: Project;
beforeAll(async () => {
  project = await createProject();
});
afterAll(() => project.close());

/**
 * Starts `npm run SCRIPT`. @returns a function for the output so far, and a function that waits for a text in the
 * output
 */
function runNpm(script: string) {
  const child = spawn('npm', ['run', script], { cwd: project.folder });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const childEnd = once(child, 'close').then(() => undefined);
  const waitForOutput = (text: string) =>
    new Promise<void>((written, failed) => {
      const checkOutput = () => output.includes(text) && written();
      child.stdout.on('data', checkOutput);
      checkOutput();
      void childEnd.then(() => failed(new Error(`ended without ${text}: ${output}`)));
    });
  return { child, ended: childEnd, writes: waitForOutput, out: () => output };
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s to the process of npm start ends the service, which reports the signal',
  async (signal) => {
    const { child, ended, writes, out } = runNpm('start');
    await writes('listening');
    child.kill(signal);
    // The pipe closes when all processes that use it have ended. The service is one of them.
    await ended;
    expect(out()).toContain(`stopped by ${signal}`);
  },
);

test('npm run dev restarts the service after a change, and keeps it running after one that does not compile', async () => {
  const { child, ended, writes, out } = runNpm('dev');
  await writes('listening');
  await project.write('src/wrong.ts', "export const count: number = 'one';\n");
  await writes('TS2322');
  await project.write('src/wrong.ts', "export const count = 1;\nconsole.log('never imported');\n");
  await project.write('src/main.ts', `${await project.read('src/main.ts')}\nconsole.log('changed');\n`);
  await writes('changed\n');
  expect(out().match(/listening/g)).toHaveLength(2);
  // Editors write a new file and rename it over the old file.
  for (const text of ['replaced', 'replaced again']) {
    await project.write('main.new', `${await project.read('src/main.ts')}console.log('${text}');\n`);
    await rename(join(project.folder, 'main.new'), join(project.folder, 'src/main.ts'));
    await writes(`${text}\n`);
  }
  child.kill('SIGTERM');
  await ended;
  expect(out().match(/stopped by SIGTERM/g)).toHaveLength(4);
});
