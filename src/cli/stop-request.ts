const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

export type StopSignal = keyof typeof SIGNAL_NUMBERS;

/**
 * Time in ms within which a second signal counts as the same request. npm and npx pass on the Ctrl-C that the terminal
 * has already sent to the command. A person who presses twice takes longer.
 */
const SAME_REQUEST_MS = 1_000;

/**
 * Calls `onRequest` at the first of the signals. If another signal arrives after {@link SAME_REQUEST_MS}, the process
 * ends at once with 128 + its number.
 * @param now monotonic clock in milliseconds
 * @returns a function that stops listening
 */
export function onStopRequest(
  signals: readonly StopSignal[],
  onRequest: (signal: StopSignal) => void,
  now: () => number = () => performance.now(),
): () => void {
  let firstRequestMs: number | undefined;
  const listen = (signal: StopSignal) => {
    if (firstRequestMs === undefined) {
      firstRequestMs = now();
      onRequest(signal);
    } else if (now() - firstRequestMs > SAME_REQUEST_MS) {
      process.exit(128 + SIGNAL_NUMBERS[signal]);
    }
  };
  for (const signal of signals) process.on(signal, listen);
  return () => {
    for (const signal of signals) process.off(signal, listen);
  };
}
