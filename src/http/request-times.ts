import type { Answered } from './app.js';

const NAME = 'divisor_http_request_seconds';
const HELP = 'Time from the headers of a request to the head of its answer.';
/** From an answer out of memory to the longest poll. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Times of the answers of one operation with one status. */
interface Times {
  /** Those within each bound and beyond the one before; last those beyond all. */
  readonly counts: number[];
  sum: number;
}

/**
 * The histogram of requests. That of prom-client names, checks and hashes its labels at each observation, which takes a
 * twentieth of a short answer.
 */
export interface RequestTimes {
  observe(answer: Answered): void;
  /** In the exposition format. */
  expose(): string;
}

export function createRequestTimes(): RequestTimes {
  const operations = new Map<string, Map<number, Times>>();
  return {
    observe({ operation = 'none', status, seconds }) {
      let statuses = operations.get(operation);
      if (statuses === undefined) operations.set(operation, (statuses = new Map()));
      let times = statuses.get(status);
      if (times === undefined)
        statuses.set(status, (times = { counts: Array<number>(BOUNDS.length + 1).fill(0), sum: 0 }));
      let at = 0;
      while (at < BOUNDS.length && seconds > BOUNDS[at]!) at++;
      times.counts[at]!++;
      times.sum += seconds;
    },
    expose() {
      const lines = [`# HELP ${NAME} ${HELP}`, `# TYPE ${NAME} histogram`];
      for (const [operation, statuses] of operations)
        for (const [status, times] of statuses)
          lines.push(...linesOf(`operation="${operation}",status="${status}"`, times));
      return `${lines.join('\n')}\n`;
    },
  };
}

/** The counts of a histogram add up from bound to bound. */
function linesOf(labels: string, { counts, sum }: Times): string[] {
  let count = 0;
  const buckets = counts.map((own, at) => {
    count += own;
    return `${NAME}_bucket{le="${BOUNDS[at] ?? '+Inf'}",${labels}} ${count}`;
  });
  return [...buckets, `${NAME}_sum{${labels}} ${sum}`, `${NAME}_count{${labels}} ${count}`];
}
