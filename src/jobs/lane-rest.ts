/** Lets the threads of a lane rest once none has had a task for a while. */
export interface LaneRest {
  /** A task begins. */
  begin(): void;
  /** A task has ended, the last one that ran or waited. */
  end(): void;
  close(): void;
}

/** @param rest called once after each pause of at least some time */
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
