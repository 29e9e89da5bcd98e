import { createSandbox, type Interpreter, openInterpreter } from '#base/sandbox/quickjs-sandbox.js';
import { ROW_FUNCTIONS } from '#domain/datapoints/plugin-sandbox.js';
import type { Sandbox, SandboxProgram } from '#base/sandbox/sandbox.js';

export interface TestSandbox {
  readonly sandbox: Sandbox;
  readonly interpreter: Interpreter;
}

/** Opens a sandbox with little memory and few steps. */
export async function openSandbox(steps = 2_000_000, megabytes = 64): Promise<TestSandbox> {
  const limits = { steps, memory: megabytes * 2 ** 20 };
  const interpreter = await openInterpreter(limits);
  return { interpreter, sandbox: createSandbox(interpreter, { ...limits, functions: ROW_FUNCTIONS }) };
}

/** Returns a program with the single input `x` and a window of one session. */
export const createProgram = (source: string, parameters: SandboxProgram['parameters'] = {}): SandboxProgram => ({
  source,
  parameters,
  inputs: [{ name: 'x', sessions: 1 }],
});
