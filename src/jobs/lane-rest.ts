/** Lets the threads of one lane (light or heavy tasks) free memory after a time without tasks. */
export interface LaneRest {
  /** Records the start of a task. */
  begin(): void;
  /** Records that the last running or waiting task has ended. */
  end(): void;
  close(): void;
}

/** @param rest called once after each pause of at least `restMs` */
export function createLaneRest(restMs: number, rest: () => void): LaneRest {
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => clearTimeout(timer);
  return {
    begin: stop,
    end() {
      stop();
      timer = setTimeout(rest, restMs).unref();
    },
    close: stop,
  };
}
