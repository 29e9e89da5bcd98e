import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs the guide's Python verification of a log. @returns exit status and output */
export async function runInPython(
  words: readonly string[],
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const { stdout } = await run('python3', ['src/clients/python/verify_published.py', ...words]);
    return { status: 0, text: stdout };
  } catch (failure) {
    const { code, stdout } = failure as { readonly code: number; readonly stdout: string };
    return { status: code, text: stdout };
  }
}
