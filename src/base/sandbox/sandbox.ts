/** A script with its parameters and the shape of its inputs. */
export interface SandboxProgram {
  /** Defines the function `compute(inputs, parameters, count)`. */
  readonly source: string;
  /** Given to `compute` with each call. */
  readonly parameters: Readonly<Record<string, number | string | boolean>>;
  /** In the order in which values are given. */
  readonly inputs: readonly SandboxInput[];
}

export interface SandboxInput {
  readonly name: string;
  /** Values of each security, the latest last. */
  readonly sessions: number;
}

/** Runs scripts that nobody vouches for: they see their inputs, and nothing of the process. */
export interface Sandbox {
  /**
   * Calls a program in the state that it has after it was read: no call sees anything of another.
   * @param inputs  One for each input of the program, [count * sessions], NaN where missing.
   * @returns       [count], NaN where missing.
   * @throws SandboxError
   */
  compute(program: SandboxProgram, inputs: readonly Float64Array[], count: number): Float64Array;
  /** Reads a program and calls nothing. @throws SandboxError */
  check(program: SandboxProgram): void;
}

export type SandboxFault = 'threw' | 'steps' | 'memory';

/** A program that did not end as it should. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly fault: SandboxFault;

  constructor(fault: SandboxFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

/** No sandbox was loaded in this thread: it takes a moment, so that it is loaded when one is needed. */
export class SandboxMissing extends Error {
  override readonly name = 'SandboxMissing';
}

let loaded: Sandbox | undefined;

/** The sandbox of this thread. @throws SandboxMissing */
export function sandbox(): Sandbox {
  if (loaded === undefined) throw new SandboxMissing('the sandbox of this thread is not loaded');
  return loaded;
}

export function provideSandbox(made: Sandbox): void {
  loaded = made;
}
