/** Script with its parameters and the shape of its inputs. */
export interface SandboxProgram {
  /** Source text, which defines the function `compute(inputs, parameters, count)`. */
  readonly source: string;
  /** Parameters passed to `compute` with each call. */
  readonly parameters: Readonly<Record<string, number | string | boolean>>;
  /** Inputs in the order in which their values are passed. */
  readonly inputs: readonly SandboxInput[];
}

export interface SandboxInput {
  readonly name: string;
  /** Number of values per security, the latest last. */
  readonly sessions: number;
}

/** Function on lists of numbers, executed outside the interpreter. Scripts call it as a member of `rows`. */
export interface NativeFunction {
  readonly name: string;
  /** Number of leading arguments that are lists. All other arguments are numbers. */
  readonly lists: number;
  /** Steps charged for each value of the lists and of the result. */
  readonly stepsPerValue: number;
  /**
   * Returns the number of values of the result, or the reason why the arguments are wrong.
   * @param lengths of the lists
   * @param numbers passed after the lists
   */
  size(lengths: readonly number[], numbers: readonly number[]): number | string;
  /** @param out  overwritten with the result; its length is the value of `size` */
  compute(lists: readonly Float64Array[], numbers: readonly number[], out: Float64Array): void;
}

/** Runs untrusted scripts, which can access only their inputs and native functions. */
export interface Sandbox {
  /**
   * Calls a program in the state after its reading, so that calls cannot affect each other.
   * @param inputs one array per input of the program, [count * sessions], NaN if missing.
   * @returns [count], NaN if missing.
   * @throws SandboxError
   */
  compute(program: SandboxProgram, inputs: readonly Float64Array[], count: number): Float64Array;
  /** Reads a program without calling it. @throws SandboxError */
  check(program: SandboxProgram): void;
}

export type SandboxFault = 'threw' | 'steps' | 'memory';

/** Failure of a program. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly fault: SandboxFault;

  constructor(fault: SandboxFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

/**
 * Thrown if no sandbox has been loaded in this thread. Loading takes time, so the sandbox is loaded only when needed.
 */
export class MissingSandboxError extends Error {
  override readonly name = 'MissingSandboxError';
}

let loadedSandbox: Sandbox | undefined;

/** Returns the sandbox of this thread. @throws MissingSandboxError */
export function requireSandbox(): Sandbox {
  if (loadedSandbox === undefined) throw new MissingSandboxError('the sandbox of this thread is not loaded');
  return loadedSandbox;
}

export function provideSandbox(sandbox: Sandbox): void {
  loadedSandbox = sandbox;
}
