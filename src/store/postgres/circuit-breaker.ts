import { isUnavailable, Refusal } from '#domain/refusals/refusal.js';

/** Circuit breaker. It rejects statements at once while the server does not answer. */
export interface CircuitBreaker {
  /**
   * Runs a statement.
   * @throws Refusal STORE_UNAVAILABLE at once while the breaker is open; the error of `onSilence` if the breaker opens
   * during the statement
   */
  run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  readonly isOpen: boolean;
  close(): void;
}

export interface CircuitBreakerDependencies {
  /** Probes the server on a separate connection. @returns true if it answered */
  readonly probe: () => Promise<boolean>;
  /** Creates the refusal of pending statements when the breaker opens. The statements may have succeeded. */
  readonly onSilence: () => Refusal;
  /** Called when the breaker opens and when it closes. */
  readonly onChange?: ((isOpen: boolean) => void) | undefined;
}

/**
 * Duration of a tick. Time without an answer is counted in ticks and not by the clock: a process that was paused, or
 * whose event loop was busy, has not yet read the answers of the server.
 */
const TICK_MS = 250;
/** Number of ticks without an answer to a pending statement. Afterwards, the server is probed. */
const SUSPECT_TICKS = 3;
/** Number of ticks without an answer after which the breaker opens: 1.5 s. Statements take milliseconds. */
const SILENT_TICKS = 6;
/** Number of ticks between the end of a probe of an open breaker and the next probe. */
const PROBE_TICKS = 2;

export function createCircuitBreaker({ probe, onSilence, onChange }: CircuitBreakerDependencies): CircuitBreaker {
  const waitingControllers = new Set<AbortController>();
  let silentTicks = 0;
  let isOpen = false;
  let isProbing = false;
  let timer: NodeJS.Timeout | undefined;

  function recordAnswer(): void {
    silentTicks = 0;
    if (!isOpen) return;
    isOpen = false;
    onChange?.(false);
  }

  function advanceTick(): void {
    silentTicks++;
    if (!isOpen && waitingControllers.size === 0) return stop();
    if (!isOpen && silentTicks >= SILENT_TICKS) open();
    const isDue = isOpen ? silentTicks >= PROBE_TICKS : silentTicks >= SUSPECT_TICKS;
    if (isDue && !isProbing) void ask();
  }

  function open(): void {
    isOpen = true;
    silentTicks = 0;
    onChange?.(true);
    for (const controller of waitingControllers) controller.abort();
  }

  async function ask(): Promise<void> {
    isProbing = true;
    const isAlive = await probe().catch(() => false);
    isProbing = false;
    if (isAlive) recordAnswer();
    else if (isOpen) silentTicks = 0;
  }

  function keepTicking(): void {
    if (timer !== undefined) return;
    silentTicks = 0;
    timer = setInterval(advanceTick, TICK_MS);
    timer.unref();
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    async run(work) {
      if (isOpen) throw new Refusal('STORE_UNAVAILABLE', 'The database does not answer.');
      const endController = new AbortController();
      waitingControllers.add(endController);
      keepTicking();
      const silence = new Promise<never>((_, reject) => {
        endController.signal.addEventListener('abort', () => reject(onSilence()), { once: true });
      });
      try {
        const answer = await Promise.race([work(endController.signal), silence]);
        recordAnswer();
        return answer;
      } catch (thrown) {
        if (!isUnavailable(thrown)) recordAnswer(); // a refusal by the server is also an answer
        throw thrown;
      } finally {
        waitingControllers.delete(endController);
      }
    },
    get isOpen() {
      return isOpen;
    },
    close: stop,
  };
}
