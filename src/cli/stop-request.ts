const NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

export type StopSignal = keyof typeof NUMBERS;

/**
 * Time within which a second signal counts as the same request: npm and npx forward the Ctrl-C that the terminal
 * already sent to the command. A person who presses twice takes longer.
 */
const SAME_REQUEST_MS = 1_000;

/**
 * Calls `begin` at the first of the signals; a signal after {@link SAME_REQUEST_MS} ends the process at once with 128 +
 * its number.
 * @param now monotonic clock in milliseconds
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
