const NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

export type StopSignal = keyof typeof NUMBERS;

/**
 * npm and npx pass on the Ctrl-C that the terminal has sent to the command already. A signal within this time of the
 * first one is the same request; a person who presses twice waits longer.
 */
const SAME_REQUEST_MS = 1_000;

/**
 * Calls `begin` at the first of the signals; one after {@link SAME_REQUEST_MS} ends the process at once with 128 + its
 * number.
 * @param now milliseconds of a clock that never goes back
 * @returns a function that stops listening
 */
export function onStopRequest(
  signals: readonly StopSignal[],
  begin: (signal: StopSignal) => void,
  now: () => number = () => performance.now(),
): () => void {
  let requestedAt: number | undefined;
  const listen = (signal: StopSignal) => {
    if (requestedAt === undefined) {
      requestedAt = now();
      begin(signal);
    } else if (now() - requestedAt > SAME_REQUEST_MS) {
      process.exit(128 + NUMBERS[signal]);
    }
  };
  for (const signal of signals) process.on(signal, listen);
  return () => {
    for (const signal of signals) process.off(signal, listen);
  };
}
